# Latencies in HdrHistogram's buckets and its V2 encoding (DEFLATE, base64).

# Three significant digits up to an hour, in nanoseconds. R has no HdrHistogram, so its documented V2 format is written
# here: a header, and the counts as ZigZag LEB128 numbers, of which a negative one stands for that many zeros.
HALF_MAGNITUDE <- 10
HALF_COUNT <- 2^HALF_MAGNITUDE
HIGHEST_NS <- 3600e9
COOKIE_V2 <- 0x1c849313
COOKIE_V2_COMPRESSED <- 0x1c849314

# Latencies that are noted one by one: an environment with its functions.
latencies <- function() {
  noted <- numeric(1024)
  count <- 0L
  self <- environment()
  note <- function(value_ns) {
    self$count <- self$count + 1L
    if (self$count > length(self$noted)) self$noted <- c(self$noted, numeric(length(self$noted)))
    self$noted[[self$count]] <- value_ns
  }
  values <- function() self$noted[seq_len(self$count)]
  self
}

# The histogram of these values in HdrHistogram's V2 format, compressed, as base64.
encoded_histogram <- function(values_ns) {
  values <- floor(pmin(values_ns, HIGHEST_NS))
  bucket <- pmax(floor(log2(pmax(values, 1))) - HALF_MAGNITUDE, 0)
  places <- (bucket + 1) * HALF_COUNT + floor(values / 2^bucket) - HALF_COUNT
  counted <- table(places)
  at <- as.numeric(names(counted))
  zeros <- diff(c(-1, at)) - 1
  body <- unlist(lapply(order(at), function(number) {
    gap <- zeros[[number]]
    c(if (gap == 1) zigzag(0) else if (gap > 1) zigzag(-gap), zigzag(as.numeric(counted[[number]])))
  }))
  body <- as.raw(body)
  header <- c(
    whole_bytes(COOKIE_V2, 4), whole_bytes(length(body), 4), whole_bytes(0, 4), whole_bytes(3, 4), whole_bytes(1, 8),
    whole_bytes(HIGHEST_NS, 8), writeBin(1, raw(), endian = "big")
  )
  packed <- memCompress(c(header, body), "gzip")
  plain <- c(whole_bytes(COOKIE_V2_COMPRESSED, 4), whole_bytes(length(packed), 4), packed)
  gsub("\n", "", jsonlite::base64_enc(plain), fixed = TRUE)
}

# A whole number below 2^53 as that many bytes, the highest first.
whole_bytes <- function(number, count) as.raw(floor(number / 256^((count - 1):0)) %% 256)

zigzag <- function(number) {
  left <- if (number < 0) -2 * number - 1 else 2 * number
  bytes <- numeric()
  while (left > 127) {
    bytes <- c(bytes, left %% 128 + 128)
    left <- floor(left / 128)
  }
  c(bytes, left)
}
