# The process that does a job's work, between the laboratory and RMariaDB; `main.R` starts and watches it.
parts <- Sys.getenv("TLSTAX_PROGRAM")
for (part in c(
  "failure", "fields", "statements", "job", "histogram", "steady", "clock", "laboratory", "driver", "proof", "operations",
  "window", "serving"
)) source(file.path(parts, paste0(part, ".R")))

quit(status = served(commandArgs(trailingOnly = TRUE)[[1]], laboratory_of_worker()))
