"""Running a query: a DuckDB in this process that reaches the query's tables and nothing else.

It has no database, no files but its own spill, no extensions, no variables of this process, and no
setting that a query could change. Memory is bounded: DuckDB's own, and, where the system can, that
of the whole process.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
import psutil
import pyarrow as pa
from deltalake.exceptions import DeltaError
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from lake_assets.delta.table_log import TableLog, log_of, table_folders
from lake_assets.errors import LakeError, QueryError, first_line
from lake_assets.model.tables import Layer, TableRef
from lake_assets.query.names import table_named, unknown_table
from lake_assets.query.statement import Statement, place_of, read_statement
from lake_assets.query.table_rows import TableReader
from lake_assets.storage.store import Store

MEMORY_BYTES = 1024**3
"""That a query may hold; what is sorted or grouped beyond goes to a temporary folder."""

_BESIDE_BYTES = 2 * 1024**3
"""Address space that Arrow's readers, threads' stacks and Python get beside it, at most."""

_SPILL_BYTES = 100 * 1024**3
"""On disk, at most; most disks are full before."""

_ASK_AGAIN_S = 0.05

_WHAT = "the query"

_READING = "reading the stream registered as"
"""How DuckDB begins what Arrow says of a file."""

_Used = TypeVar("_Used")


def run_query(
    lake: Store,
    sql: str,
    use: Callable[[DuckDBPyRelation], _Used],
    *,
    memory_bytes: int = MEMORY_BYTES,
) -> _Used:
    """Run a query and use its result, of which nothing is computed before it is read.

    Ctrl-C ends it wherever it is.

    Args:
        lake: its tables, each at its newest version.
        sql: one SELECT.
        use: reads the result, in a thread of its own; it is of no use afterwards.
        memory_bytes: that DuckDB may hold.

    Returns:
        What `use` returned.

    Raises:
        QueryError: it may not or cannot run.
        LakeError: a table cannot be read.
        KeyboardInterrupt: it was stopped.
    """
    with tempfile.TemporaryDirectory(prefix="lake-assets-sql-") as folder, _heeding_ctrl_c():
        scratch = Path(folder)
        reader = TableReader(scratch=scratch)
        with reader.closing, connected(scratch, memory_bytes) as db:
            statement = read_statement(db, sql)
            _register(db, lake, statement, reader)
            with _bounded(memory_bytes), _in_words():
                return _interruptibly(db, lambda: use(_bound(db, sql)))


@contextmanager
def _heeding_ctrl_c() -> Iterator[None]:
    """Of this thread, which prepares the query: DuckDB makes an error of its own of Ctrl-C."""
    try:
        yield
    except (RuntimeError, duckdb.InterruptException) as problem:
        if "interrupted" in str(problem).lower():
            raise KeyboardInterrupt from problem
        raise


def _interruptibly(db: DuckDBPyConnection, act: Callable[[], _Used]) -> _Used:
    """Do it in a thread: this one waits, and hears of Ctrl-C while DuckDB or Arrow computes."""
    with ThreadPoolExecutor(1, thread_name_prefix="query") as pool:
        doing = pool.submit(act)
        try:
            return doing.result()
        except KeyboardInterrupt:
            # Again and again: between two steps of a query there is nothing to interrupt.
            while not wait([doing], timeout=_ASK_AGAIN_S).done:
                db.interrupt()
            raise


@contextmanager
def connected(scratch: Path, memory_bytes: int) -> Iterator[DuckDBPyConnection]:
    """A DuckDB that reaches nothing, and in `scratch` what it writes itself."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_bytes}B",
        "temp_directory": str(scratch / "spill"),
        "max_temp_directory_size": f"{_SPILL_BYTES}B",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "errors_as_json": "true",
    }
    with duckdb.connect(":memory:", config=config) as db:
        db.execute("set TimeZone = 'UTC'")
        db.execute("set enable_progress_bar = false")
        # Not in `config`, which then refuses the folder to spill into.
        db.execute("set enable_external_access = false")
        db.execute("set lock_configuration = true")
        yield db


def _register(
    db: DuckDBPyConnection, lake: Store, statement: Statement, reader: TableReader
) -> None:
    """Give DuckDB the tables that a query names, under its names for them."""
    if not statement.tables:
        return
    known = [one for one in table_folders(lake) if log_of(lake, one).exists()]
    wanted: dict[TableRef, None] = {}
    for named in statement.tables:
        table = table_named(named, known)
        if table is not None:
            wanted[table] = None
        elif len(named.parts) > 1 or named.parts[0].casefold() not in statement.own:
            raise unknown_table(named, known)
    for layer in Layer:
        db.execute(f'create schema "{layer}"')
    for number, table in enumerate(wanted):
        log = log_of(lake, table)
        with _told_of(log):
            rows = reader.rows(log, log.open(), statement.columns)
        read = f"/rows/{number}"  # as no table can be called
        db.register(read, rows)
        for name in (f'"{table.layer}"."{table.name}"', f'main."{table.name}"'):
            db.execute(f'create or replace view {name} as select * from "{read}"')  # noqa: S608 - names of tables


@contextmanager
def _told_of(log: TableLog) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, ValueError, pa.ArrowException) as problem:
        fact = f"its log cannot be read ({first_line(problem)})"
        raise LakeError(str(log.folder), fact, "Check the folder and the disk") from problem


@contextmanager
def _bounded(memory_bytes: int) -> Iterator[None]:
    """Let allocations beyond the bound fail: DuckDB counts its buffers, and no single long text."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = getattr(psutil.Process().memory_info(), "data", None)
    if held is None:  # no Linux: the limit would count otherwise, or nothing
        yield
        return
    wanted = held + memory_bytes + _BESIDE_BYTES
    bounds = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([wanted, *bounds]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _bound(db: DuckDBPyConnection, sql: str) -> DuckDBPyRelation:
    """The query with its names looked up."""
    try:
        return db.sql(sql)
    except duckdb.Error as problem:
        try:
            db.execute(sql)  # fails before anything runs, too, and tells where
        except duckdb.Error as located:
            raise _told(located, sql) from problem
        raise _told(problem, sql) from problem


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as problem:
        raise _told(problem) from problem
    except (OSError, pa.ArrowException) as problem:
        # What DuckDB says after the first rows comes through Arrow; what is left is of writing.
        if "exception_message" not in _facts(problem):
            raise
        raise _told(problem) from problem
    except MemoryError as problem:
        raise _out_of_memory() from problem


def _out_of_memory() -> QueryError:
    step = "Read fewer columns or rows at once, or give it more by --memory-mb"
    return QueryError(_WHAT, "needs more memory than it may have", step)


def _told(problem: Exception, sql: str = "") -> QueryError | LakeError:
    """DuckDB's error in a line: what it says first, and where in the query, if `sql` is given."""
    facts = _facts(problem)
    is_memory = facts.get("exception_type") == "Out of Memory"
    if is_memory or isinstance(problem, duckdb.OutOfMemoryException):
        return _out_of_memory()
    message = facts.get("exception_message") or first_line(problem)
    if "FileNotFoundError" in message or "No such file" in message:
        fact = "a file that a table's log names is not there any more"
        return QueryError(_WHAT, fact, "Run it again: the table has a newer version by now")
    if message.startswith(_READING):
        why = " ".join(message.partition(" failed: ")[2].split()).rstrip(".")
        fact = f"a table's file cannot be read ({why})"
        return QueryError(_WHAT, fact, "Check that file and the disk")
    place = place_of(sql, int(facts.get("position", -1))) if sql else ""
    said, _, more = message.partition("\n")
    step = more.strip().partition("\n")[0] if said.rstrip().endswith(("!", ".")) else ""
    if facts.get("candidates") and facts.get("error_subtype") == "COLUMN_NOT_FOUND":
        near = facts["candidates"].split(",")[0].strip()
        step = f"The nearest column is {near}"
    is_hint = step.startswith(("Did you mean", "The nearest", "Either add"))
    return QueryError(_WHAT, f"{said.rstrip('.! ')}{place}", step if is_hint else "Correct it")


def _facts(problem: Exception) -> dict[str, str]:
    text = str(problem)
    try:
        facts = json.loads(text[text.index("{") :])
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in facts.items()} if isinstance(facts, dict) else {}
