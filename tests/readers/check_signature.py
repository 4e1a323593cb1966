"""Signs the SHA256SUMS of a lake as the page says, with the Python package of minisign, and verifies the signature and
then every file; neither passes once a byte has changed. In and out as in check.py."""

import hashlib
import json
import pathlib
import sys

import minisign

findings = []


def is_valid(key, lake):
    signature = minisign.Signature.from_file(lake / "SHA256SUMS.minisig")
    try:
        key.verify((lake / "SHA256SUMS").read_bytes(), signature)
    except minisign.VerifyError:
        return False
    return True


def main():
    request = json.load(sys.stdin)
    lake = pathlib.Path(request["lake"])
    keys = minisign.KeyPair.generate()
    sums = lake / "SHA256SUMS"
    text = sums.read_bytes()
    signature = keys.secret_key.sign(text, trusted_comment="file:SHA256SUMS")
    (lake / "SHA256SUMS.minisig").write_bytes(bytes(signature))
    if not is_valid(keys.public_key, lake):
        findings.append("the signature isn't valid")
    if is_valid(minisign.KeyPair.generate().public_key, lake):
        findings.append("the signature is valid for another key")
    sums.write_bytes(text.replace(b"a", b"b", 1))
    if is_valid(keys.public_key, lake):
        findings.append("the signature is valid for other checksums")
    sums.write_bytes(text)
    listed = dict(reversed(line.split("  ", 1)) for line in text.decode().splitlines())
    for path, digest in listed.items():
        if hashlib.sha256((lake / path).read_bytes()).hexdigest() != digest:
            findings.append(f"{path} has another digest")
    locks = {"_tracelake/lock", "_tracelake/work"}
    there = {str(path.relative_to(lake)) for path in lake.rglob("*") if path.is_file()} - locks
    findings.extend(f"{path} isn't listed" for path in there - set(listed) - {"SHA256SUMS", "SHA256SUMS.minisig"})
    json.dump({"findings": findings, "tables": {}}, sys.stdout)


main()
