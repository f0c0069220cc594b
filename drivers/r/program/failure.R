# What went wrong, in the contract's words, from whatever RMariaDB stopped with.

# Where to look, by the kind of a failure.
FAULTS <- c(
  bad_job = "job", resolve = "job", connect = "network", timeout = "network", not_mysql = "server",
  server_closed = "server", server_error = "server", access_denied = "job", no_tls = "server",
  tls_handshake = "server", certificate = "server", limits = "client", internal = "client"
)

# A failure as the contract tells it; `lost` says that the connection is of no more use.
failure <- function(kind, message, number = NULL, lost = FALSE) {
  structure(
    class = c("failure", "error", "condition"),
    list(message = message, call = NULL, kind = kind, number = number, lost = lost)
  )
}

# Stop: the job asks for what this client cannot do.
bad_job <- function(...) stop(failure("bad_job", paste0(...)))

# The line of JSON that tells of a failure, which ends the job.
failure_line <- function(failure) {
  number <- if (is.null(failure$number)) NA else failure$number
  event <- list(
    event = "error", kind = failure$kind, fault = FAULTS[[failure$kind]], fatal = TRUE, message = failure$message,
    code = number, count = 1L
  )
  jsonlite::toJSON(event, auto_unbox = TRUE, na = "null")
}

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

# What RMariaDB stopped with, while a connection was opened or later; `secret` is cut out of its words.
failure_of <- function(error, secret, opening = FALSE) {
  if (inherits(error, "failure")) return(error)
  words <- trimws(gsub("[[:space:]]+", " ", conditionMessage(error)))
  if (nzchar(secret)) words <- gsub(secret, "(the password)", words, fixed = TRUE)
  number <- regmatches(words, regexpr("[0-9]+(?=\\]$)", words, perl = TRUE))
  number <- if (length(number) == 1) as.integer(number) else NULL
  kind <- kind_of(tolower(words), number, opening)
  failure(kind, paste("RMariaDB says:", words), number, lost = kind != "server_error")
}

kind_of <- function(words, number, opening) {
  if (!is.null(number) && (number < 2000 || number >= 3000)) return("server_error")
  if (!is.null(number) && number %in% c(2006, 2013, 2055)) return("server_closed")
  for (kind in names(KINDS_BY_WORDS)) {
    if (grepl(KINDS_BY_WORDS[[kind]], words)) return(kind)
  }
  "internal"
}
