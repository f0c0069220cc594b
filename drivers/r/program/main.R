# The adapter of R's driver (drivers/ADAPTERS.md): `run` serves the job that stands on standard input.
parts <- Sys.getenv("TLSTAX_PROGRAM")
for (part in c("failure", "driver", "channel")) source(file.path(parts, paste0(part, ".R")))

served <- function() {
  input <- file("stdin", open = "r")
  setup <- jsonlite::fromJSON(readLines(input, n = 1L, warn = FALSE), simplifyVector = FALSE)
  answer <- tryCatch(
    {
      settings <- settings_of(setup)
      # Loading it takes seconds on a busy machine, which are no part of the first connection.
      loadNamespace("RMariaDB")
      list(takes = list())
    },
    error = function(error) failure_of(error)$answer
  )
  cat(json(answer), "\n", sep = "", file = stdout())
  flush(stdout())
  if (!is.null(answer$failure)) return(1L)
  numbers <- setup$channels[[1]]
  from <- file(paste0("/dev/fd/", numbers[[1]]), open = "rb", raw = TRUE)
  to <- file(paste0("/dev/fd/", numbers[[2]]), open = "wb", raw = TRUE)
  serve_channel(channel_of(setup, settings), from, to)
  0L
}

quit(status = served())
