# The rules that need no server: statements, sequences, steady warm-ups, failures, lines; then a histogram of what it is given.
program <- commandArgs(trailingOnly = TRUE)[[1]]
for (part in list.files(program, "^[a-z]+[.]R$", full.names = TRUE)) {
  if (!basename(part) %in% c("main.R", "worker.R")) source(part)
}

holds <- function(what, is) {
  if (isTRUE(is)) return(invisible())
  message("does not hold: ", what)
  quit(status = 1)
}

# The kind of the failure that this stops with; an empty text where it stops with none.
refusal <- function(made) {
  tryCatch(
    {
      made
      ""
    },
    failure = function(failure) failure$kind
  )
}

slices <- function(...) lapply(c(...), function(cost) list(elapsed_s = 0.1, operations = 100, cpu_us = 100 * cost))

job_with <- function(...) {
  job <- list(
    schema = 2, endpoint = list(kind = "tcp", host = "h", port = 1), account = list(user = "u", password = "p"),
    tls = list(mode = "off"), workload = list(statements = list(list(sql = "SELECT 1"))), connections = 1, duration_s = 1,
    seed = 1
  )
  changes <- list(...)
  job[names(changes)] <- changes
  job_of(jsonlite::toJSON(job, auto_unbox = TRUE))
}

statement <- function(sql, ...) statement_of(list(sql = sql, parameters = list(...)), "text")

made <- statement(
  "SELECT '{{?}}' WHERE a BETWEEN {id} AND {high} AND w = {word} AND c = {code}",
  high = list(kind = "offset", of = "id", by = 9), id = list(kind = "uniform_int", low = 5, high = 5),
  word = list(kind = "one_of", values = list("it's")), code = list(kind = "digits", template = "##-a-####")
)
values <- made$draw()
holds("values in the order of the placeholders", identical(values[1:3], list(5, 14, "it's")))
holds("a digit for each mark", grepl("^[0-9]{2}-a-[0-9]{4}$", values[[4]]))
written <- "^SELECT '[{][?][}]' WHERE a BETWEEN 5 AND 14 AND w = 'it''s' AND c = '[0-9]{2}-a-[0-9]{4}'$"
holds("literals", grepl(written, made$literal(values)))
holds("a mark for each value", endsWith(made$marked, "BETWEEN ? AND ? AND w = ? AND c = ?"))
holds("a backslash in hexadecimal", literal_of("a\\") == "_utf8mb4 0x615c")
holds("a large number in full", literal_of(1e15) == "1000000000000000")

numbers <- statement("{id}", id = list(kind = "sequence", first = 1, last = 2))
given <- lapply(1:3, function(time) tryCatch(numbers$draw()[[1]], exhausted = function(end) "exhausted"))
holds("a sequence gives each number once", identical(given, list(1, 2, "exhausted")))
for (sql in c("SELECT {id}", "SELECT {", "SELECT }")) {
  holds(paste("a bad job:", sql), refusal(statement(sql)) == "bad_job")
}

holds("nine slices are too few", !is_steady(slices(rep(10, 9))))
holds("ten alike are steady", is_steady(slices(rep(10, 10))))
holds("falling costs are not", !is_steady(slices(rep(10, 5), rep(9.4, 5))))
holds("nearly alike are", is_steady(slices(rep(10, 5), rep(9.6, 5))))
holds("slices in which nothing was done are not", !is_steady(rep(list(list(operations = 0, cpu_us = 5)), 10)))

holds("a job", refusal(job_with()) == "")
bad <- list(
  "two connections" = list(connections = 2), "another schema" = list(schema = 1), "an unknown field" = list(new = 1),
  "a reset" = list(reset = list("DELETE")), "groups" = list(tls = list(mode = "on", groups = "X25519")),
  "more than required" = list(tls = list(mode = "required", verify = "ca")), "a batch" = list(driver = list(batch = 2)),
  "an open loop" = list(schedule = list(mode = "open", rate_per_s = 1)),
  "a port of text" = list(endpoint = list(kind = "tcp", host = "h", port = "1"))
)
for (what in names(bad)) holds(paste("a bad job:", what), refusal(do.call(job_with, bad[[what]])) == "bad_job")
versions <- job_with(tls = list(mode = "on", min_version = "1.2"))$tls$versions
holds("the versions that are asked for", identical(versions, c("1.2", "1.3")))

for (line in c("go", "go 0", "go -1", "go nan", "go inf", "go 1 2", "go 4e7")) {
  holds(paste("a bad line:", line), refusal(slice_length_s(strsplit(line, " ")[[1]])) == "bad_job")
}
holds("a year is the longest slice", slice_length_s(c("go", "31557600")) == 31557600)

told <- function(words) failure_of(simpleError(words), "geheim")
holds("access denied", told("Failed to connect: Access denied for user 'tls'@'geheim'")$kind == "access_denied")
holds("without the password", !grepl("geheim", told("Access denied for geheim")$message))
holds("an error of the server keeps the connection", !told("Unknown column 'a' [1054]")$lost)
holds("its number", told("Unknown column 'a' [1054]")$number == 1054)
holds("no TLS", told("TLS/SSL error: SSL is required, but the server does not support it")$kind == "no_tls")
holds("a certificate", told("TLS/SSL error: self-signed certificate in certificate chain")$kind == "certificate")
holds("no such host", told("Unknown server host 'a.invalid' (-2)")$kind == "resolve")

rows <- data.frame(a = c(NA, 1.5), b = c(1e30, 2e-9), c = bit64::as.integer64(c(7, NA)), d = c("x", NA))
expected <- list(list(NA_character_, "1e30", "7", "x"), list("1.5", "2e-9", NA_character_, NA_character_))
holds("values as text", identical(shown_rows(rows), expected))

cat(encoded_histogram(scan(file("stdin"), quiet = TRUE)), "\n", sep = "")
