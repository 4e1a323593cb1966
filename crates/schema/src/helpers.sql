-- What the queries of a description may use beside DuckDB's own functions: bins, conversions and roundings have their
-- one definition here. A test refuses them anywhere else in the built-in descriptions.

-- An integer with room for any sum or difference of two columns. A float stays as it is.
CREATE OR REPLACE TEMP MACRO wide(value) AS value + CAST(0 AS HUGEINT);

-- A number as a float, for a product or a mean: faster than `wide`, and exact up to 2^53.
CREATE OR REPLACE TEMP MACRO as_float(value) AS CAST(value AS DOUBLE);

-- The start of the bin that a value from 0 on is in: the highest multiple of `width` that isn't above it.
CREATE OR REPLACE TEMP MACRO bin_start(value, width) AS value - value % width;

-- The number of the bin that an integer is in, of so many bins of a width from `first` on:
-- floor((value - first) / width). It is -1 before the first one, and the number of bins after the last one.
CREATE OR REPLACE TEMP MACRO bin_of(value, first, width, bins) AS
    CASE WHEN value < first THEN -1 WHEN value >= first + width * CAST(bins AS BIGINT) THEN bins
        ELSE bin_start(value - first, width) // width END;

-- The same for a float. DuckDB's // doesn't round down; after what is left above the start of a bin was taken away, the
-- quotient is whole but for the last digits. The difference may have been rounded up to the start of the next bin.
CREATE OR REPLACE TEMP MACRO bin_not_above(value, first, width, number) AS
    CASE WHEN value < first + width * number THEN number - 1 ELSE number END;
CREATE OR REPLACE TEMP MACRO bin_of_float(value, first, width, bins) AS
    CASE WHEN value < first THEN -1 WHEN value >= first + width * CAST(bins AS BIGINT) THEN bins
        ELSE CAST(bin_not_above(value, first, width, round(bin_start(value - first, width) // width)) AS BIGINT) END;

-- The start of the minute of a date-time.
CREATE OR REPLACE TEMP MACRO minute_of(moment) AS date_trunc('minute', moment);

-- A date-time in microseconds since 1970.
CREATE OR REPLACE TEMP MACRO microseconds_of(moment) AS epoch_us(moment);

-- An integer of any size as BIGINT: the nearest one if it is out of range.
CREATE OR REPLACE TEMP MACRO as_bigint(value) AS
    CAST(greatest(-9223372036854775808, least(9223372036854775807, value)) AS BIGINT);

-- A value as text.
CREATE OR REPLACE TEMP MACRO as_text(value) AS CAST(value AS VARCHAR);

-- The number that a text spells; NULL if it spells none.
CREATE OR REPLACE TEMP MACRO number_in(spelled) AS TRY_CAST(spelled AS DOUBLE);

-- The integers that texts spell.
CREATE OR REPLACE TEMP MACRO integers_in(spelled) AS CAST(spelled AS BIGINT[]);

-- A number rounded to this many digits after the point, for people to read.
CREATE OR REPLACE TEMP MACRO rounded(value, digits) AS round(value, digits);

-- A number with two digits after the point.
CREATE OR REPLACE TEMP MACRO two_digits(value) AS printf('%.2f', value);

-- The name of a code, from the names of the codes from 0 on.
CREATE OR REPLACE TEMP MACRO code_name(names, code) AS
    CASE WHEN code BETWEEN 0 AND len(names) - 1 THEN names[CAST(code AS BIGINT) + 1] ELSE 'code ' || code END;
