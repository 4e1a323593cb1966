# The formula for Homebrew, which gives the program with its man page and completions. `cargo xtask release` fills in SOURCE and
# SHA256, the sdist of the release, and writes the result to target/release-files/homebrew.
class Tracelake < Formula
  desc "Published cluster traces as a typed, reproducible Parquet lake"
  homepage "HOMEPAGE"
  url "SOURCE"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    # Not `cargo install --locked`, which refuses the lock file of an sdist: it has crates that the sdist lacks.
    system "cargo", "build", "--release", "--package", "tracelake"
    bin.install "target/release/tracelake"
    generate_completions_from_executable(bin/"tracelake", "completions")
    (man1/"tracelake.1").write Utils.safe_popen_read(bin/"tracelake", "man")
  end

  test do
    system bin/"tracelake", "generate", "google-2011-v2.1", "trace", "--rows", "2000"
    system bin/"tracelake", "convert", "trace", "lake"
    system bin/"tracelake", "verify", "lake", "--source", "trace"
  end
end
