# The work: operations on one connection, one after the other, each timed.

# That many failures in a row end the job (contract/README.md).
FAILURES_IN_A_ROW <- 100

SIGN_NS <- 1e9

# One connection's operations: an environment with its functions. `tally` is what was done since `begin`.
worker_of <- function(job) {
  settings <- settings_of(job)
  set.seed(job$seed %% 2^31)
  wanted_samples <- if (job$changes_data) 0 else job$row_samples
  session <- NULL
  opened <- 0
  failures <- 0
  fatal <- NULL
  has_ended <- FALSE
  left <- Inf
  tally <- NULL
  self <- environment()

  # A span of work begins: that many operations are to be started.
  begin <- function(operations) {
    self$left <- operations
    self$has_ended <- !is.null(fatal)
    self$tally <- list2env(list(
      started = 0, operations = 0, latency_sum_ns = 0, last_answer_ns = 0, connections = 0, error_count = 0,
      latencies = list(), errors = list(), samples = list()
    ), parent = emptyenv())
  }
  # A connection. Stops with a failure.
  open <- function() {
    session <- tryCatch(open_session(settings), error = function(error) stop(failure_of(error, job$password, opening = TRUE)))
    self$opened <- opened + 1
    tally$connections <- tally$connections + 1
    session
  }
  # Say what the job wants to be said on every connection.
  greet <- function(session) for (sql in job$on_connect) session$say(sql)
  keep <- function(session) self$session <- session
  # Do operations until then, or until there are no more, or the job has failed; `sign` is called once a second.
  work <- function(until_ns, sign) {
    next_sign_ns <- now_ns() + SIGN_NS
    while (!has_ended && left > 0 && (begun_ns <- now_ns()) < until_ns) {
      if (begun_ns >= next_sign_ns) {
        sign()
        next_sign_ns <- begun_ns + SIGN_NS
      }
      calls <- tryCatch(drawn(), exhausted = function(end) NULL)
      if (is.null(calls)) {
        self$has_ended <- TRUE
        break
      }
      self$left <- left - 1
      tally$started <- tally$started + 1
      tried(calls)
    }
  }
  # Hang up on the kept connection, whether or not it is of use.
  drop <- function() {
    if (!is.null(session)) try(session$close(), silent = TRUE)
    self$session <- NULL
  }

  # All that an operation says.
  drawn <- function() {
    calls <- list()
    for (statement in job$statements) {
      for (run in seq_len(statement$times)) calls[[length(calls) + 1]] <- list(statement, statement$draw())
    }
    calls
  }
  tried <- function(calls) {
    tryCatch(
      {
        if (job$reconnect) reconnecting(calls) else keeping(calls)
        tally$operations <- tally$operations + 1
        self$failures <- 0
      },
      error = function(error) {
        tally$last_answer_ns <- now_ns()
        failed(failure_of(error, job$password))
      }
    )
  }
  keeping <- function(calls) {
    begun_ns <- now_ns()
    if (is.null(session)) {
      self$session <- open()
      greet(session)
    }
    say_all(session, calls)
    done(begun_ns, now_ns())
  }
  reconnecting <- function(calls) {
    begun_ns <- now_ns()
    self$session <- open()
    connected_ns <- now_ns()
    greet(session)
    say_all(session, calls)
    said_ns <- now_ns()
    own <- session
    self$session <- NULL
    own$close()
    ended_ns <- now_ns()
    note("connect", connected_ns - begun_ns)
    note("close", ended_ns - said_ns)
    done(begun_ns, ended_ns)
  }
  done <- function(begun_ns, ended_ns) {
    note("operation", ended_ns - begun_ns)
    tally$latency_sum_ns <- tally$latency_sum_ns + ended_ns - begun_ns
    tally$last_answer_ns <- ended_ns
  }
  note <- function(phase, latency_ns) {
    if (is.null(tally$latencies[[phase]])) tally$latencies[[phase]] <- latencies()
    tally$latencies[[phase]]$note(latency_ns)
  }
  say_all <- function(session, calls) {
    for (call in calls) {
      statement <- call[[1]]
      begun_ns <- now_ns()
      rows <- if (statement$is_prepared) {
        session$run_prepared(statement, call[[2]])
      } else {
        session$say(statement$literal(call[[2]]))
      }
      note(if (session$is_fresh) "first_query" else "query", now_ns() - begun_ns)
      session$is_fresh <- FALSE
      if (!is.null(rows) && length(tally$samples) < wanted_samples) {
        sample <- list(sql = statement$literal(call[[2]]), rows = shown_rows(rows))
        tally$samples[[length(tally$samples) + 1]] <- sample
      }
    }
  }
  # Count a failure and leave the connection fit for the next operation.
  failed <- function(failure) {
    tally$error_count <- tally$error_count + 1
    known <- paste(failure$kind, failure$number)
    count <- if (is.null(tally$errors[[known]])) 1 else tally$errors[[known]]$count + 1
    tally$errors[[known]] <- list(
      kind = failure$kind, code = if (is.null(failure$number)) NA else failure$number, count = count
    )
    if (failure$lost || job$reconnect) drop()
    self$failures <- failures + 1
    if (failure$kind %in% c("bad_job", "internal") || failures >= FAILURES_IN_A_ROW) {
      self$fatal <- failure
      self$has_ended <- TRUE
    }
  }

  begin(Inf)
  self
}
