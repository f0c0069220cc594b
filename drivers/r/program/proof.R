# What was negotiated, asked before measuring: the server's word, as RMariaDB has none of its own.

# What this connection says: the server's version, and its view of TLS, NULL in the clear.
asked <- function(session) {
  version <- session$say("SELECT VERSION()")[[1]]
  rows <- session$say("SHOW SESSION STATUS LIKE 'Ssl%'")
  said <- stats::setNames(as.list(rows[[2]]), rows[[1]])
  list(server_version = version, server = server_view(version, said))
}

server_view <- function(version, said) {
  if (is.null(said$Ssl_cipher) || !nzchar(said$Ssl_cipher)) return(NULL)
  # MariaDB's Ssl_sessions_reused stays 0 whatever happens.
  resumed <- if (grepl("MariaDB", version)) NA else isTRUE(as.numeric(said$Ssl_sessions_reused) > 0)
  list(
    version = said$Ssl_version, cipher = said$Ssl_cipher, resumed = resumed, group = NA, hello_retry = NA,
    certificate_key = NA, certificate_sha256 = NA
  )
}

# The OpenSSL that is mapped: its paths, and the version that stands in libcrypto; NA if there is not just one.
tls_library <- function() {
  maps <- readLines("/proc/self/maps")
  paths <- lapply(c("ssl", "crypto"), function(name) {
    unique(sub("^[^/]*", "", grep(paste0("/lib", name, "\\.so"), maps, value = TRUE)))
  })
  if (!all(lengths(paths) == 1)) return(NA)
  bytes <- readBin(paths[[2]], "raw", file.size(paths[[2]]))
  bytes[bytes == 0] <- as.raw(10)
  text <- rawToChar(bytes)
  version <- regmatches(text, regexpr("OpenSSL [0-9]+[.][0-9]+[.][0-9]+[^ ]* +[0-9]+ [A-Z][a-z]+ [0-9]{4}", text, useBytes = TRUE))
  if (length(version) == 0) return(NA)
  list(version = version, libssl_path = paths[[1]], libcrypto_path = paths[[2]])
}
