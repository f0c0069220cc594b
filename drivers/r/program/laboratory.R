# The worker's end of the conversation: lines come from the watching process, events go to the laboratory.

# No time is longer than a year (contract/README.md).
LONGEST_S <- 365.25 * 86400

# The file descriptor by which a worker says to the watching process that it is at work.
LIFE <- 3L

# What stops the worker when standard input has ended.
laboratory_gone <- function() {
  structure(class = c("laboratory_gone", "error", "condition"), list(message = "the laboratory is gone", call = NULL))
}

# What the worker hears and says: a list of functions.
laboratory_of_worker <- function() {
  input <- file("stdin", open = "r")
  life <- processx::conn_create_fd(LIFE)
  # The next line; stops where there is none.
  line <- function() {
    read <- readLines(input, n = 1L, warn = FALSE)
    if (length(read) == 0) stop(laboratory_gone())
    trimws(read)
  }
  list(
    line = line,
    # How long the next slice is to last; NULL where there is to be none. Other lines mean nothing.
    next_slice_s = function() {
      repeat {
        words <- strsplit(line(), "[[:space:]]+")[[1]]
        if (identical(words, "end")) return(NULL)
        if (length(words) > 0 && words[[1]] == "go") return(slice_length_s(words))
      }
    },
    # Return when standard input has ended.
    wait_for_end = function() tryCatch(repeat line(), laboratory_gone = function(gone) NULL),
    # Write an event, a list or a line of JSON.
    say = function(event) {
      if (is.list(event)) event <- jsonlite::toJSON(event, auto_unbox = TRUE, null = "null", na = "null", digits = NA)
      cat(event, "\n", sep = "", file = stdout())
      flush(stdout())
    },
    # Say to the watching process: `limit SECONDS`, `busy`, `alive` or `idle`.
    sign = function(sign) processx::conn_write(life, paste0(sign, "\n"))
  )
}

# What stands behind `go`: one number of seconds. Stops with a failure (bad_job).
slice_length_s <- function(words) {
  length_s <- if (length(words) == 2) suppressWarnings(as.numeric(words[[2]])) else NA
  if (!is.na(length_s) && length_s > 0 && length_s <= LONGEST_S) return(length_s)
  bad_job(
    "`", paste(words, collapse = " "), "` has no length of a slice: a number of seconds above 0, a year at most"
  )
}
