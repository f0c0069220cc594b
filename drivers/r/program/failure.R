# What went wrong, as a kind of the contract's, from whatever RMariaDB stopped with.

# A failure: the driver's words or (`by`) the adapter's own. `is_lost` says that the connection is of no more use.
failure <- function(kind, words, number = NULL, by = "driver") {
  code <- if (is.null(number)) NA else number
  structure(
    class = c("failure", "error", "condition"),
    list(
      message = words, call = NULL, kind = kind, is_lost = kind != "server_error",
      answer = list(failure = list(kind = kind, words = words, code = code, by = by))
    )
  )
}

# Stop: the job asks for what RMariaDB cannot do.
bad_job <- function(...) stop(failure("bad_job", paste0(...), by = "adapter"))

# Kinds by RMariaDB's words, tried in this order: it gives the number of an error within a statement alone.
KINDS_BY_WORDS <- c(
  access_denied = "access denied|authentication|public key|not allowed to connect",
  resolve = "unknown (mysql )?server host",
  connect = "can't connect",
  no_tls = "server does not support it",
  certificate = "certificate|hostname verification",
  tls_handshake = "\\b(ssl|tls)\\b",
  limits = "too many connections",
  not_mysql = "protocol mismatch|malformed packet",
  server_closed = "lost connection|gone away",
  bad_job = "argument|invalid|must be|is not supported"
)

# What RMariaDB stopped with, as a failure.
failure_of <- function(error) {
  if (inherits(error, "failure")) return(error)
  words <- trimws(conditionMessage(error))
  number <- regmatches(words, regexpr("[0-9]+(?=\\]$)", words, perl = TRUE))
  number <- if (length(number) == 1) as.integer(number) else NULL
  failure(kind_of(tolower(words), number), words, number)
}

kind_of <- function(words, number) {
  if (!is.null(number) && (number < 2000 || number >= 3000)) return("server_error")
  if (!is.null(number) && number %in% c(2006, 2013, 2055)) return("server_closed")
  for (kind in names(KINDS_BY_WORDS)) {
    if (grepl(KINDS_BY_WORDS[[kind]], words)) return(kind)
  }
  "internal"
}
