# RMariaDB as its users call it: dbConnect, dbGetQuery and dbExecute, dbSendQuery and dbBind.

# Bits of `client.flag` (MySQL's mysql_com.h).
CLIENT_SSL <- 2048L
CLIENT_SSL_VERIFY_SERVER_CERT <- bitwShiftL(1L, 30L)

# Arguments of dbConnect that are the user's own; where to and as whom is the job's.
WORDS <- c(
  "bigint", "client.flag", "default.file", "group", "init-command", "load_data_local_infile", "mysql", "reconnect",
  "ssl.ca", "ssl.capath", "ssl.cert", "ssl.cipher", "ssl.key", "timeout", "timezone", "timezone_out"
)

# What dbConnect is called with, the job's own options last. Stops with a failure (bad_job).
settings_of <- function(setup) {
  if (length(setup$channels) != 1) {
    bad_job("connections: a process of R has one connection at work, so this driver keeps one")
  }
  endpoint <- setup$endpoint
  place <- if (endpoint$kind == "unix") list(unix.socket = endpoint$path) else endpoint[c("host", "port")]
  account <- list(username = setup$account$user, password = setup$account$password)
  account$dbname <- setup$account$database
  unknown <- setdiff(names(setup$options), WORDS)
  if (length(unknown) > 0) bad_job("RMariaDB has no option ", unknown[[1]])
  utils::modifyList(c(place, account, tls_settings(setup$tls)), lapply(setup$options, option_of))
}

# An option's value: a truth or a number where it reads as one, anything else is text.
option_of <- function(word) {
  if (tolower(word) %in% c("true", "false")) return(as.logical(word))
  if (grepl("^-?[0-9]+$", word)) return(as.integer(word))
  word
}

# RMariaDB has no word but flags of the protocol; any file given turns TLS on as well.
tls_settings <- function(tls) {
  if (tls$mode %in% c("unset", "off")) return(list())
  if (tls$mode == "required") return(list(client.flag = CLIENT_SSL))
  verifies <- tls$verify != "none"
  settings <- list(client.flag = if (verifies) bitwOr(CLIENT_SSL, CLIENT_SSL_VERIFY_SERVER_CERT) else CLIENT_SSL)
  settings$ssl.ca <- tls$ca_file
  settings$ssl.cert <- tls$certificate_file
  settings$ssl.key <- tls$key_file
  if (length(tls$versions) > 0) settings$default.file <- options_file(unlist(tls$versions))
  settings
}

# The path of a file of options in R's own temporary folder, which goes with the process: versions are libmariadb's to be
# told, and RMariaDB has no word for them.
options_file <- function(versions) {
  path <- tempfile(fileext = ".cnf")
  writeLines(c("[client]", paste0("tls_version=", paste0("TLSv", versions, collapse = ","))), path)
  path
}

# RMariaDB's version, and that of the client library.
driver_version <- function() {
  number <- RMariaDB::mariadbClientLibraryVersions()
  library <- names(number)[[length(number)]]
  paste0(utils::packageVersion("RMariaDB"), " (libmariadb ", library, ")")
}

# An open connection: an environment with its functions. Stops with what RMariaDB stops with.
open_session <- function(settings) {
  handle <- do.call(DBI::dbConnect, c(list(RMariaDB::MariaDB()), settings))
  result <- NULL
  result_sql <- ""
  self <- environment()
  # Run this text; the rows that came back, NULL where the statement has none.
  say <- function(sql) {
    drop_result()
    if (grepl("^[[:space:]]*(SELECT|SHOW)", sql, ignore.case = TRUE)) return(DBI::dbGetQuery(handle, sql))
    DBI::dbExecute(handle, sql)
    NULL
  }
  # Prepare this statement, with `?` for each value, unless it is the one that was run last: RMariaDB keeps one result
  # open on a connection. One without values, which cannot be bound, is run as text is.
  prepare <- function(call) {
    if (!nzchar(call$types) || identical(result_sql, call$marked)) return(invisible())
    drop_result()
    send <- if (call$reads) DBI::dbSendQuery else DBI::dbSendStatement
    self$result <- send(handle, call$marked)
    self$result_sql <- call$marked
  }
  # Run a prepared statement with these values; the rows.
  run_prepared <- function(call, values) {
    if (!nzchar(call$types)) return(say(call$marked))
    prepare(call)
    DBI::dbBind(result, values)
    if (call$reads) DBI::dbFetch(result) else NULL
  }
  drop_result <- function() {
    if (!is.null(result)) DBI::dbClearResult(result)
    self$result <- NULL
    self$result_sql <- ""
  }
  close <- function() {
    drop_result()
    DBI::dbDisconnect(handle)
  }
  self
}

# The rows of a data frame as the text protocol has them.
shown_rows <- function(rows) {
  columns <- lapply(rows, shown_column)
  lapply(seq_len(NROW(rows)), function(row) lapply(unname(columns), function(column) column[[row]]))
}

shown_column <- function(column) {
  texts <- if (inherits(column, "blob")) {
    vapply(column, function(bytes) if (is.null(bytes)) NA_character_ else rawToChar(bytes[bytes != 0]), "")
  } else if (is.double(column) && !inherits(column, "integer64")) {
    sub("e[+]?(-?)0*", "e\\1", format(column, digits = 15, trim = TRUE))
  } else {
    as.character(column)
  }
  texts[is.na(column)] <- NA
  iconv(texts, "UTF-8", "UTF-8", sub = "\uFFFD")
}
