# The job as it is read from one line of JSON, checked at the door.

SCHEMA <- 2

# TLS versions of the contract, lowest first.
TLS_VERSIONS <- c("1.0", "1.1", "1.2", "1.3")

# Fields of TLS that RMariaDB has no word for.
UNTOLD <- c("cipher_list", "ciphersuites", "groups", "resumption", "library", "weak_dh", "keylog_file")

# The job in this line: a list. Stops with a failure (bad_job) that says what is wrong with it.
job_of <- function(line) {
  document <- tryCatch(
    jsonlite::fromJSON(line, simplifyVector = FALSE, bigint_as_char = FALSE),
    error = function(error) bad_job("the job is not JSON")
  )
  fields <- fields_of(document, "the job")
  schema <- fields$take("schema", "whole")
  if (schema != SCHEMA) bad_job("the job is of version ", schema, " of the contract, and this client knows ", SCHEMA)
  job <- c(
    endpoint_of(fields_of(fields$take("endpoint", "object"), "endpoint")),
    account_of(fields_of(fields$take("account", "object"), "account")),
    workload_of(fields, fields_of(fields$take("workload", "object"), "workload")),
    terms_of(fields_of(fields$maybe("driver", "object", list()), "driver"))
  )
  job$tls <- tls_of(fields_of(fields$take("tls", "object"), "tls"), job$host)
  if (fields$take("connections", "whole") != 1) {
    bad_job("connections: a process of R has one connection at work, so this client keeps one")
  }
  job$cpus <- unlist(fields$maybe("cpus", "list", list()))
  job$warmup_s <- fields$maybe("warmup_s", "number", 0.1)
  job$duration_s <- fields$take("duration_s", "number")
  job$operations <- fields$maybe("operations", "whole", Inf)
  job$timeout_s <- fields$maybe("timeout_s", "number", 10)
  job$seed <- fields$take("seed", "number")
  job$row_samples <- fields$maybe("row_samples", "whole", 16)
  fields$end()
  job$changes_data <- !all(vapply(job$statements, function(statement) statement$is_select, NA))
  job
}

endpoint_of <- function(fields) {
  kind <- fields$take("kind", "text")
  found <- switch(kind,
    tcp = list(host = fields$take("host", "text"), port = fields$take("port", "whole")),
    unix = list(socket_path = fields$take("path", "text")),
    bad_job("endpoint.kind is neither tcp nor unix: ", kind)
  )
  fields$end()
  found
}

account_of <- function(fields) {
  account <- list(user = fields$take("user", "text"), password = fields$take("password", "text"))
  account$database <- fields$maybe("database", "text")
  fields$end()
  account
}

# What only the engine does is a bad job here, unless it is left at what means nothing.
workload_of <- function(fields, work) {
  schedule <- fields$maybe("schedule", "object", list(mode = "closed"))
  if (!identical(schedule, list(mode = "closed"))) bad_job("a driver works in a closed loop only")
  fields$refuse("reset", "a driver does all operations in one go and puts no data back")
  fields$ignore("rounds", "threads", "source_addresses", "attributes")
  work$refuse("mix", "a driver runs statements, not a mix of transactions")
  work$refuse("storm", "a driver runs statements, not a storm")
  protocol <- work$maybe("protocol", "text", "text")
  workload <- list(
    reconnect = work$maybe("reconnect", "truth", FALSE), on_connect = work$maybe("on_connect", "list", list()),
    statements = lapply(work$take("statements", "list"), statement_of, protocol)
  )
  work$end()
  workload
}

terms_of <- function(fields) {
  terms <- list(
    options = fields$maybe("options", "object", list()), steady_within_s = fields$maybe("steady_within_s", "number", 0)
  )
  if (fields$maybe("batch", "whole", 1) != 1) {
    bad_job("driver.batch: this driver has no call for many operations at once")
  }
  fields$end()
  terms
}

tls_of <- function(fields, host) {
  mode <- fields$take("mode", "text")
  tls <- switch(mode,
    off = list(),
    unset = ,
    required = list(trusted_ca_file = fields$maybe("trusted_ca_file", "text")),
    on = tls_that_is_on(fields, host),
    bad_job("tls.mode is not one of unset, required, off and on: ", mode)
  )
  fields$end()
  c(list(mode = mode, is_wanted = mode %in% c("on", "required")), tls)
}

tls_that_is_on <- function(fields, host) {
  for (name in UNTOLD) fields$refuse(name, "this driver cannot be told")
  server_name <- fields$maybe("server_name", "text", host)
  if (!identical(server_name, host)) {
    bad_job("tls.server_name: this driver compares the certificate with the host it connects to")
  }
  list(
    versions = versions_of(fields), verify = fields$maybe("verify", "text", "none"),
    ca_file = fields$maybe("ca_file", "text"), certificate_file = fields$maybe("certificate_file", "text"),
    key_file = fields$maybe("key_file", "text")
  )
}

# The versions to keep to; none where the job leaves it to the driver.
versions_of <- function(fields) {
  low <- fields$maybe("min_version", "text")
  high <- fields$maybe("max_version", "text")
  if (is.null(low) && is.null(high)) return(character())
  places <- match(c(if (is.null(low)) "1.0" else low, if (is.null(high)) "1.3" else high), TLS_VERSIONS)
  if (anyNA(places)) bad_job("tls.min_version and tls.max_version are of ", paste(TLS_VERSIONS, collapse = ", "))
  TLS_VERSIONS[seq_along(TLS_VERSIONS) >= places[[1]] & seq_along(TLS_VERSIONS) <= places[[2]]]
}
