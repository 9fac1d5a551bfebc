"""Why a row was refused. The words are in the quarantine table, so users filter by them."""

from enum import StrEnum


class Reason(StrEnum):
    """Value of the quarantine table's column `reason`."""

    WAITING = "waiting"  # in the table of waiting rows only: the registry does not answer
    EMPTY_VALUE = "empty_value"  # null or no bytes at all (a tombstone)
    NOT_FRAMED = "not_framed"  # no Confluent framing: magic byte 0 and a 4-byte schema id
    UNKNOWN_SCHEMA = "unknown_schema"  # the registry answered: it has no such id
    FOREIGN_SCHEMA = "foreign_schema"  # the id belongs to another subject than the feed's
    INCOMPATIBLE_SCHEMA = "incompatible_schema"  # its version does not fit the table's columns
    FOREIGN_MESSAGE = "foreign_message"  # a message type that the feed does not take
    BAD_FILE = (
        "bad_file"  # of a file's row, or all that is left of it, there are no bytes to decode
    )
    UNDECODABLE = "undecodable"  # the bytes are not a message of the schema
    TYPE_MISMATCH = "type_mismatch"  # a value does not fit its declared column
    UNKNOWN_COLUMN = "unknown_column"  # a value that nobody declared a column for
    TRANSFORM_FAILED = "transform_failed"  # the feed's function raised, as the detail says
    UNKNOWN_KEY = "unknown_key"  # the route has no such key
    TABLE_TAKEN = "table_taken"  # the key's tables would be those of another feed, key or view
    EXPECTATION = "expectation"  # the row violates an expectation, which the detail names
    SKIPPED = "skipped"  # its batch failed again and again, and somebody had it skipped
    BAD_KEY_NAME = "bad_key_name"  # the key could not name a table, or is empty
