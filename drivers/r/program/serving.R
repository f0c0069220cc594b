# One job from beginning to end: set up, warm up, `ready`, a slice for each `go`, `end`, `done`.

# Serve one job; the exit status is 0 after `done`.
served <- function(name, laboratory) {
  tryCatch(
    {
      serve(name, laboratory)
      0L
    },
    laboratory_gone = function(gone) 1L,
    error = function(error) {
      if (!inherits(error, "failure")) {
        error <- failure("internal", paste(name, "stopped:", gsub("[[:space:]]+", " ", conditionMessage(error))))
      }
      message(error$message)
      laboratory$say(failure_line(error))
      1L
    }
  )
}

serve <- function(name, laboratory) {
  job <- job_of(laboratory$line())
  laboratory$sign(paste("limit", job$timeout_s))
  take_the_machines_part(job)
  wind_up_clocks()
  worker <- worker_of(job)
  laboratory$sign("busy")
  proof <- set_up(job, worker)
  warmed <- warm_up(job, worker, laboratory)
  worker$begin(job$operations)
  window <- window_of(worker)
  laboratory$sign("idle")
  negotiated <- list(connections = 1, client = NA, server = if (is.null(proof$server)) NA else proof$server, client_tells = FALSE)
  laboratory$say(list(
    event = "ready", client = name, client_version = driver_version(), pid = Sys.getpid(),
    server_version = proof$server_version, tls_library = tls_library(), negotiated = list(negotiated),
    warmup = warmed$slices, steady = warmed$is_steady
  ))
  measure(worker, window, laboratory)
  laboratory$wait_for_end()
  worker$drop()
}

# Run on the processors that the job names, and let the runtime trust whom it says.
take_the_machines_part <- function(job) {
  if (length(job$cpus) > 0) {
    list <- paste(job$cpus, collapse = ",")
    arguments <- c("-cp", list, Sys.getpid())
    status <- system2("taskset", arguments, stdout = FALSE, stderr = FALSE)
    if (status != 0) bad_job("cpus: this machine does not let us run on ", list)
  }
  if (!is.null(job$tls$trusted_ca_file)) {
    Sys.setenv(SSL_CERT_FILE = job$tls$trusted_ca_file, SSL_CERT_DIR = "/dev/null")
  }
}

# Open the connection and ask what was negotiated; with `reconnect` it is closed again.
set_up <- function(job, worker) {
  session <- worker$open()
  proof <- tryCatch(
    {
      worker$greet(session)
      asked(session)
    },
    error = function(error) stop(failure_of(error, job$password))
  )
  if (job$tls$is_wanted && is.null(proof$server)) {
    stop(failure("no_tls", "RMariaDB logged in in the clear, though TLS was asked for"))
  }
  if (job$reconnect) session$close() else worker$keep(session)
  proof
}

# The job's work, until it is steady where that is looked for: its slices, and whether it was.
warm_up <- function(job, worker, laboratory) {
  if (job$steady_within_s == 0) {
    if (job$warmup_s > 0) warm_slice(job$warmup_s, worker, laboratory)
    return(list(slices = list(), is_steady = NA))
  }
  slices <- list()
  begun_ns <- now_ns()
  while (!is_steady(slices) && !worker$has_ended) {
    if (length(slices) > 0 && slices[[length(slices)]]$elapsed_s >= job$steady_within_s) {
      return(list(slices = slices, is_steady = FALSE))
    }
    used <- cpu_of(function() warm_slice(WARMUP_SLICE_S, worker, laboratory))
    slices[[length(slices) + 1]] <- list(
      elapsed_s = (now_ns() - begun_ns) / 1e9, operations = worker$tally$operations, cpu_us = used$total_us
    )
    laboratory$sign("alive")
  }
  list(slices = slices, is_steady = is_steady(slices))
}

# Work without keeping anything but the number of operations that succeeded. Stops with a failure.
warm_slice <- function(span_s, worker, laboratory) {
  worker$begin(Inf)
  worker$work(now_ns() + span_s * 1e9, function() laboratory$sign("alive"))
  if (!is.null(worker$fatal)) stop(worker$fatal)
}

# A slice for each `go`, and `done` at `end`. Stops with a failure.
measure <- function(worker, window, laboratory) {
  sign <- function() {
    laboratory$sign("alive")
    laboratory$say(window$interval())
  }
  while (!is.null(length_s <- laboratory$next_slice_s())) {
    until_ns <- window$open_slice() + length_s * 1e9
    laboratory$sign("busy")
    used <- cpu_of(function() worker$work(until_ns, sign))
    laboratory$sign("idle")
    if (!is.null(worker$fatal)) stop(worker$fatal)
    laboratory$say(window$close_slice(length_s, used))
  }
  if (window$elapsed_s == 0) bad_job("`end` came before the first `go`: nothing was measured")
  laboratory$say(window$done())
}
