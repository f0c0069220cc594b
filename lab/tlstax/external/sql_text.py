"""A statement's text as every server reads it, whatever its version and `sql_mode`; its words, what it does.

MySQL and MariaDB find the tokens of the same text differently by mode and version: what a backslash or a
double quote means, which comments are executed, which functions may have a space before their bracket. Only
text for which none of that matters gets through here. Source: MySQL's reference manual, "String Literals",
"Comments", "Schema Object Names" and "Function Name Parsing and Resolution"; MariaDB's Knowledge Base,
"Comment Syntax" and "SQL_MODE".

A function is among the words where the server itself has it, so that no stored function of others is called
by its name, and where all that it does is to return a value. Source: MySQL's reference manual, "Keywords and
Reserved Words", "Built-In Function and Operator Reference" and "Server System Variables"; MariaDB's Knowledge
Base.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tlstax.external.reading import STAND_INS, Lexis, Refused, SqlText, Token, check_quoted, word_set

NUMBERS_AND_TEXTS = word_set(
    "INT INTEGER TINYINT SMALLINT MEDIUMINT BIGINT CHAR CHARACTER VARCHAR VARBINARY DECIMAL NUMERIC",
    "DEC FLOAT DOUBLE REAL BINARY",
)
"""Types whose names are reserved in every version of both products."""

BEFORE_BRACKETS = NUMBERS_AND_TEXTS | word_set(
    "SELECT DISTINCT ALL FROM WHERE BY HAVING LIMIT UNION JOIN STRAIGHT_JOIN ON USING AS AND OR XOR",
    "NOT BETWEEN IN LIKE REGEXP RLIKE DIV CASE WHEN THEN ELSE EXISTS INTERVAL INDEX KEY VALUES SET",
    "UNIQUE FULLTEXT SPATIAL PRIMARY FOREIGN CHECK REFERENCES INTO UPDATE PARTITION",
)
"""As these are, so that a bracket after them begins no function's arguments."""

TYPES = word_set(
    "BIT BOOL BOOLEAN DATE DATETIME TIME TIMESTAMP YEAR TEXT TINYTEXT MEDIUMTEXT LONGTEXT BLOB",
    "TINYBLOB MEDIUMBLOB LONGBLOB ENUM JSON SET SIGNED UNSIGNED ZEROFILL PRECISION VARYING NATIONAL",
    "NCHAR INT1 INT2 INT3 INT4 INT8 POINT GEOMETRY VECTOR UUID INET4 INET6",
)

KEYWORDS = (
    BEFORE_BRACKETS
    | TYPES
    | word_set(
        "DISTINCTROW HIGH_PRIORITY SQL_NO_CACHE SQL_SMALL_RESULT SQL_BIG_RESULT SQL_BUFFER_RESULT",
        "DUAL GROUP SQL_CALC_FOUND_ROWS WITH ROLLUP ORDER ASC DESC OFFSET EXCEPT INTERSECT INNER",
        "CROSS LEFT RIGHT OUTER NATURAL IS NULL TRUE FALSE UNKNOWN ESCAPE MOD END ANY SOME COLLATE",
        "OVER ROWS RANGE PRECEDING FOLLOWING UNBOUNDED CURRENT ROW WINDOW RECURSIVE USE FORCE IGNORE",
        "FOR SHARE LOCK MODE OF NOWAIT SKIP LOCKED SEPARATOR LEADING TRAILING BOTH AGAINST LANGUAGE",
        "QUERY EXPANSION DAY HOUR MINUTE SECOND MICROSECOND MONTH QUARTER WEEK DAY_HOUR DAY_MINUTE",
        "DAY_SECOND HOUR_MINUTE HOUR_SECOND MINUTE_SECOND YEAR_MONTH DAY_MICROSECOND HOUR_MICROSECOND",
        "MINUTE_MICROSECOND SECOND_MICROSECOND INSERT REPLACE DELETE DUPLICATE LOW_PRIORITY QUICK",
        "RETURNING DEFAULT VALUE CREATE TABLE VIEW IF CONSTRAINT CASCADE RESTRICT NO ACTION",
        "AUTO_INCREMENT GENERATED ALWAYS VIRTUAL STORED PERSISTENT COMMENT CHARSET ENGINE ROW_FORMAT",
        "DYNAMIC COMPACT COMPRESSED REDUNDANT FIXED ALTER ADD COLUMN MODIFY DROP FIRST AFTER TRUNCATE",
        "ANALYZE BTREE HASH ALGORITHM MERGE TEMPTABLE UNDEFINED SQL SECURITY INVOKER VISIBLE",
        "INVISIBLE CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME CURRENT_USER LOCALTIME LOCALTIMESTAMP",
        "UTC_DATE UTC_TIME UTC_TIMESTAMP",
    )
)
"""Every other word in a statement must be a name."""

FUNCTIONS = word_set(
    "ASCII BIN BIT_LENGTH CHAR CHAR_LENGTH CHARACTER_LENGTH CONCAT CONCAT_WS CONV ELT EXPORT_SET",
    "FIELD FIND_IN_SET FORMAT FROM_BASE64 HEX INSERT INSTR LCASE LEFT LENGTH LOCATE LOWER LPAD LTRIM",
    "MAKE_SET MD5 MID OCT OCTET_LENGTH ORD POSITION QUOTE REPEAT REPLACE REVERSE RIGHT RPAD RTRIM SHA",
    "SHA1 SHA2 SOUNDEX SPACE STRCMP SUBSTR SUBSTRING SUBSTRING_INDEX TO_BASE64 TRIM UCASE UNHEX UPPER",
    "WEIGHT_STRING CRC32 COMPRESS UNCOMPRESS UNCOMPRESSED_LENGTH AES_ENCRYPT AES_DECRYPT ABS ACOS",
    "ASIN ATAN ATAN2 CEIL CEILING COS COT DEGREES EXP FLOOR LN LOG LOG10 LOG2 MOD PI POW POWER",
    "RADIANS RAND ROUND SIGN SIN SQRT TAN TRUNCATE GREATEST LEAST ADDDATE ADDTIME CONVERT_TZ CURDATE",
    "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURTIME DATE DATE_ADD DATE_FORMAT DATE_SUB DATEDIFF",
    "DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT FROM_DAYS FROM_UNIXTIME HOUR LAST_DAY",
    "LOCALTIME LOCALTIMESTAMP MAKEDATE MAKETIME MICROSECOND MINUTE MONTH MONTHNAME NOW PERIOD_ADD",
    "PERIOD_DIFF QUARTER SEC_TO_TIME SECOND STR_TO_DATE SUBDATE SUBTIME SYSDATE TIME TIME_FORMAT",
    "TIME_TO_SEC TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TO_DAYS TO_SECONDS UNIX_TIMESTAMP",
    "UTC_DATE UTC_TIME UTC_TIMESTAMP WEEK WEEKDAY WEEKOFYEAR YEAR YEARWEEK IF IFNULL NULLIF COALESCE",
    "ISNULL CAST CONVERT MATCH AVG BIT_AND BIT_OR BIT_XOR COUNT GROUP_CONCAT MAX MIN STD STDDEV",
    "STDDEV_POP STDDEV_SAMP SUM VAR_POP VAR_SAMP VARIANCE CONNECTION_ID CURRENT_USER DATABASE SCHEMA",
    "USER VERSION LAST_INSERT_ID ROW_COUNT FOUND_ROWS CHARSET COLLATION UUID INET_ATON INET_NTOA",
)
"""Those of MySQL 5.6 and MariaDB 10.0, and of all that came later."""

LATER_FUNCTIONS = word_set(
    "CUME_DIST DENSE_RANK FIRST_VALUE LAG LAST_VALUE LEAD NTH_VALUE NTILE PERCENT_RANK RANK",
    "ROW_NUMBER JSON_ARRAY JSON_ARRAYAGG JSON_ARRAY_APPEND JSON_CONTAINS JSON_CONTAINS_PATH",
    "JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_MERGE_PATCH JSON_MERGE_PRESERVE",
    "JSON_OBJECT JSON_OBJECTAGG JSON_OVERLAPS JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH",
    "JSON_SET JSON_TYPE JSON_UNQUOTE JSON_VALID JSON_VALUE REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE",
    "REGEXP_SUBSTR RANDOM_BYTES ANY_VALUE INET6_ATON INET6_NTOA",
)
"""Where a server lacks one of these, a stored function of others could have its name, and is looked for."""

SPACE_BEFORE_BRACKET = word_set(
    "IF LEFT RIGHT REPLACE INSERT MOD CHAR CONVERT MATCH REPEAT DATABASE SCHEMA CURRENT_DATE",
    "CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER LOCALTIME LOCALTIMESTAMP UTC_DATE UTC_TIME",
    "UTC_TIMESTAMP",
)
"""Functions with a reserved name; others need their bracket at once, or a stored one may be called."""

ENGINES = word_set("INNODB MYISAM ARIA MEMORY HEAP ARCHIVE ROCKSDB")
"""Storage engines that keep a table's rows in the table, at that server."""

CHARACTER_SETS = word_set("UTF8MB4 UTF8MB3 UTF8 LATIN1 ASCII BINARY")
"""In which no character ends with the byte of a quote or of a backslash."""

SQL_MODES = word_set(
    "STRICT_TRANS_TABLES STRICT_ALL_TABLES NO_ZERO_DATE NO_ZERO_IN_DATE ERROR_FOR_DIVISION_BY_ZERO",
    "ONLY_FULL_GROUP_BY NO_ENGINE_SUBSTITUTION NO_AUTO_VALUE_ON_ZERO ALLOW_INVALID_DATES TRADITIONAL",
    "NO_UNSIGNED_SUBTRACTION PAD_CHAR_TO_FULL_LENGTH NO_AUTO_CREATE_USER",
)
"""Those that change what values are taken, and not how statements are read."""

SETTINGS = word_set(
    "AUTOCOMMIT BIG_TABLES BULK_INSERT_BUFFER_SIZE CHARACTER_SET_CLIENT CHARACTER_SET_CONNECTION",
    "CHARACTER_SET_RESULTS COLLATION_CONNECTION DIV_PRECISION_INCREMENT EQ_RANGE_INDEX_DIVE_LIMIT",
    "GROUP_CONCAT_MAX_LEN INNODB_LOCK_WAIT_TIMEOUT INTERACTIVE_TIMEOUT JOIN_BUFFER_SIZE LC_TIME_NAMES",
    "LOCK_WAIT_TIMEOUT LONG_QUERY_TIME MAX_EXECUTION_TIME MAX_HEAP_TABLE_SIZE MAX_JOIN_SIZE",
    "MAX_LENGTH_FOR_SORT_DATA MAX_SEEKS_FOR_KEY MAX_SORT_LENGTH MAX_STATEMENT_TIME NET_READ_TIMEOUT",
    "NET_RETRY_COUNT NET_WRITE_TIMEOUT OPTIMIZER_PRUNE_LEVEL OPTIMIZER_SEARCH_DEPTH OPTIMIZER_SWITCH",
    "QUERY_CACHE_TYPE RAND_SEED1 RAND_SEED2 READ_BUFFER_SIZE READ_RND_BUFFER_SIZE SESSION_TRACK_GTIDS",
    "SESSION_TRACK_SCHEMA SESSION_TRACK_STATE_CHANGE SESSION_TRACK_SYSTEM_VARIABLES SORT_BUFFER_SIZE",
    "SQL_AUTO_IS_NULL SQL_BIG_SELECTS SQL_MODE SQL_NOTES SQL_SAFE_UPDATES SQL_SELECT_LIMIT",
    "SQL_WARNINGS TIME_ZONE TIMESTAMP TMP_TABLE_SIZE TRANSACTION_ISOLATION TRANSACTION_READ_ONLY",
    "TX_ISOLATION TX_READ_ONLY UNIQUE_CHECKS WAIT_TIMEOUT",
)
"""System variables whose value for a session concerns that session alone."""

ISOLATION_LEVELS = word_set("READ-UNCOMMITTED READ-COMMITTED REPEATABLE-READ")
"""Not SERIALIZABLE, in which whoever reads keeps others from writing."""

TRANSACTION_CONTROL = (
    r"BEGIN( WORK)?"
    r"|START TRANSACTION( READ ONLY| READ WRITE| WITH CONSISTENT SNAPSHOT)?"
    r"|COMMIT( WORK)?( AND NO CHAIN)?|ROLLBACK( WORK)?( AND NO CHAIN)?"
    r"|(SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK( WORK)? TO( SAVEPOINT)?) \w+"
)


_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\n]+ )
  | (?P<comment> /\*.*?\*/ | --(?=[ \t\r\n]|$)[^\n]* | \#[^\n]* )
  | (?P<text> '(?:[^']|'')*' )
  | (?P<name> `(?:[^`]|``)+` )
  | (?P<number> 0[xX][0-9a-fA-F]+(?![0-9A-Za-z_$]) | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
      (?![0-9A-Za-z_$.]) )
  | (?P<word> [A-Za-z_][0-9A-Za-z_]* )
  | (?P<value> [\ue000\ue001] )
  | (?P<mark> := | @@ | <=> | <> | != | >= | <= | << | >> | \|\| | && | ->> | -> | [-+*/%(),.;=<>!~^|&@] )
    """,
    re.VERBOSE | re.DOTALL,
)


def with_stand_ins(text: SqlText) -> SqlText:
    """The text with a number or a text for each parameter. Refused where a value could be more than a value.

    By the text protocol the value is put in as it is, so that nothing may touch it: 'x' after a letter is a
    literal of another kind, 7 after one is part of a name.
    """
    if all(token.sort != "value" for token in text.tokens):
        return text
    parts = []
    before: Token | None = None
    for token in text.tokens:
        touches = not token.is_apart and before is not None
        if touches and before is not None and "value" in {token.sort, before.sort}:
            other = before if token.sort == "value" else token
            if other.sort != "mark" or other.text in {"@", "@@", "."}:
                raise Refused("something touches a parameter; put a space between the two")
        before = token
        parts.append((" " if token.is_apart else "") + STAND_INS.get(token.text, token.text))
    return read("".join(parts))


def _check_comment(sort: str, text: str) -> None:
    if sort == "comment" and text.startswith("/*"):
        if text[2:3] in {"!", "+"} or text[2:4].upper() == "M!":
            raise Refused("it has a comment that a server executes or takes hints from; write it without")
        if "/*" in text[2:]:
            raise Refused("it has a comment within a comment; write it without")
    elif sort == "comment" and "\r" in text.rstrip("\r"):
        raise Refused("a comment has a carriage return in it; write it without")


def _check_token(sort: str, text: str) -> None:
    if sort not in {"text", "name"}:
        return
    check_quoted(text, "sql_mode", "CHAR")
    if sort == "name" and (text[-2] == " " or not text.isprintable()):
        raise Refused("a name has a space at its end or a character that cannot be printed")


def _check_pair(before: Token, sort: str, text: str) -> None:
    """What touches the token before it and could be one token with it."""
    if before.text + text in {"--", "/*", "*/"}:
        raise Refused(f"what {before.text}{text} means depends on what follows; put a space into it")
    if sort == "number" and text[0] == "." and before.sort != "mark":
        raise Refused(f"{before.text}{text} can be read as a name or as a number")


_UNREADABLE = {
    '"': "what double quotes mean depends on the server's sql_mode; write texts in single quotes, and "
    "names in backquotes",
    "'": "a quote (') is not closed",
    "`": "a backquote is not closed, or there is nothing between two of them",
    "\\": "it has a backslash outside of quotes",
    "?": "it has a question mark; write a {name} for a parameter",
}


_LEXIS = Lexis(
    _TOKEN,
    _check_comment,
    _check_token,
    _check_pair,
    _UNREADABLE,
    hint="; write such a name in backquotes",
)


def read(statement: str) -> SqlText:
    """The statement's tokens. Raises Refused where another mode or version would find others."""
    return _LEXIS.read(statement)


def is_character_set(item: Collection[Token]) -> bool:
    """Whether this is a character set, or a collation of it, in which quotes are safe."""
    words = [token.text.strip("'").upper() for token in item]
    known = "|".join(CHARACTER_SETS)
    return bool(re.fullmatch(rf"({known})(_[0-9A-Z_]+)?( COLLATE ({known})(_[0-9A-Z_]+)?)?", " ".join(words)))
