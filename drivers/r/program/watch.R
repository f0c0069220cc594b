# The process that watches the worker: a driver that hangs cannot be interrupted from within.

# How often a worker at work gives a sign of life, and how long one that has nothing to do may take to hang up.
SIGN_S <- 1
GRACE_S <- 1

LOOK_MS <- 200L
SAID_WHY <- 1L

# Have the worker work, and watch it: hand on what the laboratory says, end it when the server stays silent for longer
# than the job allows or the laboratory is gone. The exit status is the worker's.
watched_worker <- function(name, r, program) {
  ends <- processx::conn_create_pipepair()
  worker <- processx::process$new(
    r, c(paste0("--file=", program), "--args", name),
    stdin = "|", stdout = "", stderr = "", connections = list(ends[[2]]), cleanup = TRUE
  )
  close(ends[[2]])
  watch(name, worker, ends[[1]])
}

watch <- function(name, worker, life) {
  input <- processx::conn_create_fd(0L, close = FALSE)
  state <- list(unread = "", limit_s = Inf, is_busy = FALSE, has_left = FALSE, last_sign_s = elapsed_s())
  repeat {
    is_waiting <- state$is_busy || state$has_left
    watched <- if (state$has_left) list(life) else list(life, input)
    ready <- processx::poll(watched, if (is_waiting) LOOK_MS else -1L)
    if (has_come(ready[[1]])) {
      state <- heard(state, life)
      if (!processx::conn_is_incomplete(life)) return(ended(name, worker, state))
    }
    if (!state$has_left && has_come(ready[[2]]) && !handed_on(worker, input)) state <- left(state, worker)
    silent_s <- elapsed_s() - state$last_sign_s
    if (state$is_busy && silent_s > state$limit_s + SIGN_S) {
      worker$kill()
      words <- paste("the server has not answered within", state$limit_s, "s")
      return(said_why(failure("timeout", words)))
    }
    if (state$has_left && silent_s > GRACE_S) {
      worker$kill()
      return(SAID_WHY)
    }
  }
}

# Whether there is something to read, or an end: reading anything else would wait.
has_come <- function(status) status %in% c("ready", "closed")

# A clock for waiting; no latency is measured here.
elapsed_s <- function() proc.time()[["elapsed"]]

# What is known, and the signs of life that have come.
heard <- function(state, life) {
  part <- processx::conn_read_chars(life)
  lines <- strsplit(paste0(state$unread, part, "."), "\n", fixed = TRUE)[[1]]
  last <- lines[[length(lines)]]
  state$unread <- substr(last, 1, nchar(last) - 1)
  for (line in utils::head(lines, -1)) {
    state$last_sign_s <- elapsed_s()
    if (line == "busy") state$is_busy <- TRUE
    if (line == "idle") state$is_busy <- FALSE
    if (startsWith(line, "limit ")) state$limit_s <- as.numeric(substring(line, 7))
  }
  state
}

# Hand on what the laboratory says; whether it is still there.
handed_on <- function(worker, input) {
  part <- processx::conn_read_chars(input)
  rest <- charToRaw(part)
  while (length(rest) > 0 && worker$is_alive()) rest <- worker$write_input(rest)
  processx::conn_is_incomplete(input)
}

# The laboratory is gone: a worker that waits for it hears so, one that waits for the server is ended.
left <- function(state, worker) {
  close(worker$get_input_connection())
  if (state$is_busy) worker$kill()
  state$has_left <- TRUE
  state$last_sign_s <- elapsed_s()
  state
}

# The worker's exit status; where it ended without a word, that is said for it.
ended <- function(name, worker, state) {
  worker$wait()
  status <- worker$get_exit_status()
  if (state$has_left && status < 0) return(SAID_WHY)
  if (status %in% c(0L, SAID_WHY)) return(status)
  said_why(failure("internal", paste(name, "ended by", if (status < 0) "signal" else "status", abs(status))))
}

said_why <- function(failure) {
  message(failure$message)
  cat(failure_line(failure), "\n", sep = "", file = stdout())
  SAID_WHY
}
