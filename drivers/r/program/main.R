# An R driver behind tlstax's contract: `run NAME` serves one job, in a process that this one watches.
parts <- Sys.getenv("TLSTAX_PROGRAM")
for (part in c("failure", "watch")) source(file.path(parts, paste0(part, ".R")))

name <- commandArgs(trailingOnly = TRUE)[[1]]
quit(status = watched_worker(name, Sys.getenv("TLSTAX_R"), file.path(parts, "worker.R")))
