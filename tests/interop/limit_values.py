"""Columns of every type, and values at the limits of each, in the form of `tests/rows.py`."""

EMOJI = "\U0001f600"
LAST = "\U0010ffff"
TEXTS = ["", " ", "a", "a" * 16, "a" * 17, "é" * 20, EMOJI * 16, EMOJI * 17, "b" * 15 + EMOJI * 3]
HARD_TEXTS = [
    [LAST * 17, "z"],  # no code point of the prefix can grow
    ["y" + LAST * 16, "x"],  # the first can
    ["\ud7ff".encode("utf-16", "surrogatepass").decode("utf-16") * 17],  # the next code point is a surrogate
    ["\uffff" * 17, "\uffff" * 3 + EMOJI],  # order by bytes, not by UTF-16 units
    ["\x00", "\x00\x00", "\x7f" * 17],
]
SCALARS = {
    "f_bool": "BOOLEAN",
    "f_tiny": "TINYINT",
    "f_small": "SMALLINT",
    "f_int": "INT",
    "f_big": "BIGINT",
    "f_float": "FLOAT",
    "f_double": "DOUBLE",
    "f_dec5": "DECIMAL(5, 2)",
    "f_dec18": "DECIMAL(18, 4)",
    "f_dec19": "DECIMAL(19, 0)",
    "f_dec38": "DECIMAL(38, 10)",
    "f_char": "CHAR(5)",
    "f_varchar": "VARCHAR(20)",
    "f_string": "STRING",
    "f_bin": "BINARY(4)",
    "f_varbin": "VARBINARY(8)",
    "f_bytes": "BYTES",
    "f_date": "DATE",
    "f_time": "TIME(0)",
    "f_time3": "TIME(3)",
    "f_ts0": "TIMESTAMP(0)",
    "f_ts3": "TIMESTAMP(3)",
    "f_ts6": "TIMESTAMP(6)",
    "f_ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "f_ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
NANOS = {"f_ts9": "TIMESTAMP(9)", "f_ltz9": "TIMESTAMP(9) WITH LOCAL TIME ZONE"}
NESTED = {
    "f_arr": "ARRAY<INT>",
    "f_map": "MAP<STRING, BIGINT>",
    "f_row": "ROW<x INT, y STRING>",
    "f_deep": "ARRAY<ROW<a INT, m MAP<STRING, ARRAY<DOUBLE>>>>",
    "f_multi": "MULTISET<STRING>",
    "f_lists": "ARRAY<ARRAY<STRING>>",
    "f_times": "MAP<INT, ROW<q DECIMAL(5, 2), w TIMESTAMP(6)>>",
    "f_not_null": "ARRAY<INT NOT NULL>",
}
LOW = [
    False, -128, -32768, -(2**31), -(2**63), "-Infinity", -1.7976931348623157e308, "-999.99", "-99999999999999.9999",
    "-9999999999999999999", "-9999999999999999999999999999.9999999999", "a", "", "", "00000000", "", "",
    "0001-01-01", "00:00:00.000", "00:00:00.001", "1969-12-31 23:59:59", "1969-12-31 23:59:59.999",
    "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999Z", "1969-12-31 23:59:59.999999Z",
]  # fmt: skip
HIGH = [
    True, 127, 32767, 2**31 - 1, 2**63 - 1, "Infinity", 1.7976931348623157e308, "999.99", "99999999999999.9999",
    "9999999999999999999", "9999999999999999999999999999.9999999999", "zz", "größe", EMOJI * 17, "ffffffff",
    "ffffffffffffffff", "ff" * 20, "9999-12-31", "23:59:59.000", "23:59:59.999", "9999-12-31 23:59:59",
    "9999-12-31 23:59:59.999", "9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999Z", "9999-12-31 23:59:59.999999Z",
]  # fmt: skip
SMALL = [
    False, 0, 0, 0, 0, -0.0, -0.0, "0.00", "0.0000", "0", "0.0000000001", "日本", " ", "\x00", "00000001", "00", "00",
    "1969-12-31", "12:34:56.000", "12:34:56.789", "0001-01-01 00:00:00", "0001-01-01 00:00:00.000",
    "0001-01-01 00:00:00.000000", "0001-01-01 00:00:00.000Z", "0001-01-01 00:00:00.000000Z",
]  # fmt: skip
MODERN = [
    None, 1, 1, 1, 1, 1.25e-38, 5e-324, "0.01", "1.0000", "1", "-0.0000000001", "abc", "varchar", "hello",
    "01020304", "0102", "ff00ff", "2024-02-29", "01:02:03.000", "01:02:03.004", "2024-01-02 03:04:05",
    "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.678Z", "2024-01-02 03:04:05.678901Z",
]  # fmt: skip
NANO_VALUES = [
    ["1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999Z"],
    ["2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775807Z"],
    ["1677-09-21 00:12:43.145224193", "1677-09-21 00:12:43.145224193Z"],
    ["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000001Z"],
]
NESTED_VALUES = [
    [[1, 2, 3], [["a", 1], ["b", 2]], [7, "x"], [[1, [["k", [1.5, None]]]]], [["m", 2], ["n", 1]], [["p"], []],
     [[5, ["1.25", "2024-01-02 03:04:05.678901"]]], [1]],
    [[], [], [None, None], [], [], [], [], []],
    [[None], [["", None]], [None, ""], [None, [None, None]], [["", 1]], [None, [None, ""]], [[0, None]], [0]],
    [None] * 8,
]  # fmt: skip
ALL_TYPES = {"id": "INT"} | SCALARS | NANOS | NESTED
ALL_ROWS = [
    [id, *plain, *nanos, *nested]
    for id, (plain, nanos, nested) in enumerate(
        zip((LOW, HIGH, SMALL, MODERN), NANO_VALUES, NESTED_VALUES, strict=True)
    )
]
NULLS = [None] * (len(ALL_TYPES) - 1)
