# The orders of drivers/ADAPTERS.md, done on the one connection that a process of R has at work.

# The monotonic clock in nanoseconds. R's own tell the time of day, microbenchmark's CLOCK_MONOTONIC_RAW.
CLOCK <- cli:::clic_get_time
now_ns <- function() 1e9 * .Call(CLOCK)

json <- function(answer) jsonlite::toJSON(answer, auto_unbox = TRUE, null = "null", na = "null", digits = NA)

# A list that JSON has as an object, also where it is empty.
NOTHING <- stats::setNames(list(), character())

# Answer every order that comes until there are no more.
serve_channel <- function(channel, from, to) {
  read <- function(bytes) {
    text <- rawToChar(readBin(from, "raw", as.integer(bytes)))
    Encoding(text) <- "UTF-8"
    text
  }
  while (length(line <- readLines(from, n = 1L, warn = FALSE)) > 0) {
    words <- strsplit(line, " ", fixed = TRUE)[[1]]
    answer <- tryCatch(
      switch(words[[1]],
        open = channel$open(),
        rows = channel$rows(as.integer(words[[2]]), read(words[[3]])),
        operations = channel$add(as.integer(words[[2]]), read(words[[3]])),
        empty = channel$empty(),
        work = channel$work(as.numeric(words[[2]])),
        report = channel$report(),
        close = channel$close(),
        stop("no such order: ", words[[1]])
      ),
      error = channel$failed
    )
    writeChar(paste0(json(answer[names(answer) != "body"]), "\n", answer$body), to, eos = NULL, useBytes = TRUE)
    flush(to)
  }
}

# A connection, its stock of operations and the times of those that are done: an environment with its functions.
channel_of <- function(setup, settings) {
  calls <- lapply(setup$calls, function(call) {
    types <- if (call$prepared) strsplit(call$types, "")[[1]] else "s"
    c(call, marked = paste(unlist(call$pieces), collapse = "?"), fields = list(types))
  })
  all_types <- unlist(lapply(calls, `[[`, "fields"))
  session <- NULL
  opened <- 0L
  stock <- 0L
  fields <- character()
  next_field <- 1L
  # Times in columns, an operation each; doubled where it is full. `<<-` writes into it, an assignment by `$` would copy it.
  times <- matrix(0, nrow = 4L + length(calls), ncol = 1024L)
  done <- 0L

  open <- function() {
    connect()
    make_ready()
    list(version = driver_version())
  }
  connect <- function() {
    session <<- open_session(settings)
    opened <<- opened + 1L
  }
  # Say what is to be said on every connection, and prepare the statement that comes first.
  make_ready <- function() {
    for (sql in setup$on_connect) session$say(sql)
    for (call in utils::head(calls, 1)) if (call$prepared) session$prepare(call)
  }
  rows <- function(number, body) {
    if (number < 0) return(list(rows = shown_rows(session$say(body))))
    call <- calls[[number + 1L]]
    list(rows = shown_rows(run(call, values_of(split_fields(body), call$fields))))
  }
  run <- function(call, values) {
    if (call$prepared) session$run_prepared(call, values) else session$say(values[[1]])
  }
  add <- function(count, body) {
    rest <- if (stock > 0L) fields[next_field:length(fields)]
    fields <<- c(rest, split_fields(body))
    next_field <<- 1L
    stock <<- stock + count
    NOTHING
  }
  empty <- function() {
    stock <<- 0L
    NOTHING
  }
  # Do operations of the stock until then.
  work <- function(until_ns) {
    before <- done
    while (stock > 0L && (begun_ns <- now_ns()) < until_ns) {
      stock <<- stock - 1L
      times_ns <- operation(begun_ns)
      if (done == ncol(times)) times <<- cbind(times, times)
      done <<- done + 1L
      times[, done] <<- times_ns
    }
    list(operations = done - before)
  }
  # When it began, was connected and ready, had each answer, and was closed.
  operation <- function(begun_ns) {
    place <- next_field
    next_field <<- place + length(all_types)
    times_ns <- rep(begun_ns, nrow(times))
    if (is.null(session)) {
      connect()
      times_ns[[2]] <- now_ns()
      make_ready()
      times_ns[[3]] <- now_ns()
    }
    for (number in seq_along(calls)) {
      call <- calls[[number]]
      values <- values_of(fields[seq.int(place, length.out = length(call$fields))], call$fields)
      run(call, values)
      times_ns[[3L + number]] <- now_ns()
      place <- place + length(call$fields)
    }
    if (setup$reconnect) close()
    last <- length(times_ns)
    times_ns[[last]] <- if (setup$reconnect) now_ns() else times_ns[[last - 1L]]
    times_ns
  }
  report <- function() {
    body <- if (done > 0L) paste0(paste(sprintf("%.0f", times[, seq_len(done)]), collapse = " "), "\n") else ""
    done <<- 0L
    list(opened = opened, bytes = nchar(body, "bytes"), body = body)
  }
  close <- function() {
    last_session <- session
    session <<- NULL
    if (!is.null(last_session)) last_session$close()
    NOTHING
  }
  # Leave the connection fit for the next order; what is to be answered.
  failed <- function(error) {
    failure <- failure_of(error)
    if (failure$is_lost || setup$reconnect) try(close(), silent = TRUE)
    failure$answer
  }
  environment()
}

# The fields of a body, empty ones too. As bytes: a regular expression would check what is left of the text at each of
# them, and take seconds.
split_fields <- function(body) {
  text <- paste0(gsub("\x1e", "\x1f", body, fixed = TRUE, useBytes = TRUE), "\x1f")
  fields <- strsplit(text, "\x1f", fixed = TRUE, useBytes = TRUE)[[1]]
  Encoding(fields) <- "UTF-8"
  fields
}

# Fields as values of these types: a whole number is bound as BIGINT.
values_of <- function(fields, types) {
  lapply(seq_along(types), function(number) {
    if (types[[number]] == "i") bit64::as.integer64(fields[[number]]) else fields[[number]]
  })
}
