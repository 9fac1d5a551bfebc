"""Texts of SQL as sqlglot takes them apart, and what it does not know of Spark's grammar; pure.

What a text means is not looked at here.
"""

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel

# sqlglot is imported where a text is read: it takes 0.3 s, and Spark's workers import this room.


def statements_of(sql: str, error_level: "ErrorLevel") -> "list[exp.Expr | None]":
    """The statements of a text; the function `window(…)` is one wherever it stands.

    sqlglot takes it for the clause `window w as (…)` behind `group by`. No bracket follows the
    clause's first word.

    Raises:
        SqlglotError: it does not parse.
    """
    from sqlglot.dialects import Spark  # noqa: PLC0415
    from sqlglot.tokenizer_core import TokenType  # noqa: PLC0415

    dialect = Spark()
    tokens = dialect.tokenize(sql)
    for token, after in pairwise(tokens):
        is_function = after.token_type is TokenType.L_PAREN
        if is_function and token.token_type is TokenType.WINDOW:
            token.token_type = TokenType.VAR
    found: list[exp.Expr | None] = dialect.parser(error_level=error_level).parse(tokens, sql)
    return found
