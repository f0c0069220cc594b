# The rules that need no server: options, values, failures, and the orders over a driver that has none.
program <- commandArgs(trailingOnly = TRUE)[[1]]
for (part in c("failure", "driver", "channel")) source(file.path(program, paste0(part, ".R")))

holds <- function(what, is) {
  if (isTRUE(is)) return(invisible())
  message("does not hold: ", what)
  quit(status = 1)
}

# What was asked of a driver without a server, which takes the place of RMariaDB's.
notes <- character()
note <- function(...) notes <<- c(notes, paste(...))
open_session <- function(settings) {
  note("connect")
  list(
    say = function(sql) {
      note(sql)
      if (sql == "wrong") stop("Unknown column 'a' [1054]")
      data.frame(a = 1L, b = NA, c = "x")
    },
    prepare = function(call) note("prepare", call$marked),
    run_prepared = function(call, values) note(call$marked, paste(vapply(values, as.character, ""), collapse = "|"), class(values[[1]])),
    close = function() note("close")
  )
}
driver_version <- function() "1.0"

CALLS <- list(
  list(pieces = list("a=", " b=", ""), types = "is", prepared = TRUE, reads = TRUE),
  list(pieces = list(""), types = "", prepared = FALSE, reads = TRUE)
)

# The lines that are answered to these orders.
answered <- function(reconnect, ..., calls = CALLS) {
  notes <<- character()
  files <- c(tempfile(), tempfile())
  writeLines(paste0(...), files[[1]], sep = "")
  from <- file(files[[1]], open = "rb")
  to <- file(files[[2]], open = "wb")
  channel <- channel_of(list(calls = calls, on_connect = list("hello"), reconnect = reconnect), list())
  serve_channel(channel, from, to)
  close(from)
  close(to)
  readLines(files[[2]])
}
add <- function(operation) paste0("operations 1 ", nchar(operation, "bytes"), "\n", operation)

operation <- "7\x1fit's\x1ftext"
far <- "work 9e18\n"
lines <- answered(
  FALSE, "open\nrows -1 4\nask?", add(operation), far, "work 1\nreport\nclose\n", add(operation), "empty\n", far
)
asked <- c("connect", "hello", "prepare a=? b=?", "ask?", "a=? b=? 7|it's integer64", "text", "close")
holds("orders without reconnecting", identical(notes, asked))
holds("the version", lines[[1]] == '{"version":"1.0"}')
holds("rows", lines[[2]] == '{"rows":[["1",null,"x"]]}')
holds("one is done, then none is left", identical(lines[3:5], c("{}", '{"operations":1}', '{"operations":0}')))
holds("as many bytes as are said", lines[[6]] == paste0('{"opened":1,"bytes":', nchar(lines[[7]]) + 1, "}"))
times <- as.numeric(strsplit(lines[[7]], " ")[[1]])
holds("six times", length(times) == 6 && !is.unsorted(times) && times[[1]] == times[[3]] && times[[5]] == times[[6]])
holds("none is left of a stock that was emptied", lines[[11]] == '{"operations":0}')

lines <- answered(TRUE, add("7\x1fx\x1fwrong"), far, "report\n", add(operation), far)
holds("a failure", grepl('"kind":"server_error"', lines[[2]]) && grepl('"code":1054', lines[[2]]))
holds("its times are dropped", lines[[3]] == '{"opened":1,"bytes":0}')
holds("closed each time, and done again", sum(notes == "close") == 2 && lines[[5]] == '{"operations":1}')
lines <- answered(FALSE, "open\n", add(operation), far, calls = list())
holds("an operation that calls nothing", identical(notes, c("connect", "hello")) && lines[[3]] == '{"operations":1}')
holds("empty fields", identical(split_fields("a\x1f\x1eb\x1f"), c("a", "", "b", "")))

settings <- function(...) {
  setup <- list(
    channels = list(list(3, 4)), endpoint = list(kind = "tcp", host = "h", port = 1),
    account = list(user = "u", password = "p", database = NULL), tls = list(mode = "off"), options = list()
  )
  changes <- list(...)
  setup[names(changes)] <- changes
  tryCatch(settings_of(setup), failure = function(refused) refused$kind)
}
holds("options", identical(settings(options = list(timeout = "5", reconnect = "true"))[c("timeout", "reconnect")],
  list(timeout = 5L, reconnect = TRUE)))
holds("an option that it has not", settings(options = list(nonsense = "1")) == "bad_job")
holds("a second connection", settings(channels = list(list(3, 4), list(5, 6))) == "bad_job")
file <- settings(tls = list(mode = "on", verify = "none", versions = list("1.2", "1.3")))$default.file
holds("the versions that are asked for", "tls_version=TLSv1.2,TLSv1.3" %in% readLines(file))

told <- function(words) failure_of(simpleError(words))
holds("access denied", told("Failed to connect: Access denied for user 'tls'@'h'")$kind == "access_denied")
holds("an error of the server keeps the connection", !told("Unknown column 'a' [1054]")$is_lost)
holds("its number", told("Unknown column 'a' [1054]")$answer$failure$code == 1054)
holds("no TLS", told("TLS/SSL error: SSL is required, but the server does not support it")$kind == "no_tls")
holds("a certificate", told("TLS/SSL error: self-signed certificate in certificate chain")$kind == "certificate")
holds("no such host", told("Unknown server host 'a.invalid' (-2)")$kind == "resolve")

rows <- data.frame(a = c(NA, 1.5), b = c(1e30, 2e-9), c = bit64::as.integer64(c(7, NA)), d = c("x", NA))
expected <- list(list(NA_character_, "1e30", "7", "x"), list("1.5", "2e-9", NA_character_, NA_character_))
holds("values as text", identical(shown_rows(rows), expected))
