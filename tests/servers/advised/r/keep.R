# Asks a database five times by RMariaDB, on a connection that is kept or not: keep.R NAME PORT CA_FILE HOW.
told <- commandArgs(trailingOnly = TRUE)
connection <- NULL
for (time in 1:5) {
  if (is.null(connection) || told[[4]] != "kept") {
    if (!is.null(connection)) DBI::dbDisconnect(connection)
    connection <- DBI::dbConnect(
      RMariaDB::MariaDB(),
      host = "127.0.0.1", port = as.integer(told[[2]]), username = "ann", password = Sys.getenv("TLSTAX_PASSWORD"),
      dbname = "lent", ssl.ca = told[[3]], client.flag = 1073741824L
    )
  }
  DBI::dbGetQuery(connection, "SELECT 1")
}
DBI::dbDisconnect(connection)
