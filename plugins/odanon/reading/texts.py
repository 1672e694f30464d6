"""What of Arrow's types holds texts or numbers, and texts of any bytes."""

import pyarrow as pa


def utf8(values: pa.Array) -> pa.Array:
    """Text of bytes; bytes that are no UTF-8 are escaped, so that different ids stay different."""
    try:
        return values.cast(pa.large_string())
    except pa.ArrowInvalid:
        octets = values.cast(pa.large_binary()).to_pylist()
        texts = [None if item is None else item.decode("utf-8", "backslashreplace") for item in octets]
        return pa.array(texts, pa.large_string())


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts, or bytes that are taken for texts."""
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, of whatever width."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
