# Statements with placeholders, filled in with values that are drawn for each run.

# What stops a draw when a sequence has given its last number: the window ends, and that is no error.
exhausted <- function() structure(class = c("exhausted", "error", "condition"), list(message = "exhausted", call = NULL))

# A statement of the job: how it is drawn, written and sent. Stops with a failure (bad_job).
statement_of <- function(document, protocol) {
  fields <- fields_of(document, "statement")
  sql <- fields$take("sql", "text")
  parameters <- fields$maybe("parameters", "object", list())
  own <- fields$maybe("protocol", "text", protocol)
  times <- fields$maybe("repeat", "whole", 1)
  fields$end()
  if (!own %in% c("text", "prepared")) bad_job("protocol is neither text nor prepared: ", own)
  pieces <- pieces_of(sql, parameters)
  draws <- draws_of(parameters)
  list(
    times = times, is_prepared = own == "prepared", marked = paste(pieces$texts, collapse = "?"),
    is_select = grepl("^[[:space:]]*SELECT", pieces$texts[[1]], ignore.case = TRUE),
    # Values for one run, in the order of the placeholders.
    draw = function() {
      drawn <- list()
      for (name in names(draws)) drawn[[name]] <- draws[[name]](drawn)
      unname(drawn[pieces$names])
    },
    # The statement as text, with the values put in.
    literal = function(values) {
      if (length(values) == 0) return(pieces$texts[[1]])
      paste(c(rbind(pieces$texts, c(vapply(values, literal_of, ""), ""))), collapse = "")
    }
  )
}

# A value as it stands in a statement, whatever the session's sql_mode says of backslashes.
literal_of <- function(value) {
  if (is.numeric(value)) return(format(value, scientific = FALSE, digits = 15, trim = TRUE))
  if (grepl("\\", value, fixed = TRUE)) return(paste0("_utf8mb4 0x", paste(charToRaw(enc2utf8(value)), collapse = "")))
  paste0("'", gsub("'", "''", value, fixed = TRUE), "'")
}

pieces_of <- function(sql, parameters) {
  places <- gregexpr("\\{\\{|\\}\\}|\\{[^{}]*\\}|[{}]", sql, perl = TRUE)
  marks <- regmatches(sql, places)[[1]]
  between <- regmatches(sql, places, invert = TRUE)[[1]]
  texts <- between[[1]]
  names <- character()
  for (number in seq_along(marks)) {
    mark <- marks[[number]]
    if (mark %in% c("{{", "}}")) {
      texts[[length(texts)]] <- paste0(texts[[length(texts)]], substr(mark, 1, 1), between[[number + 1]])
      next
    }
    if (nchar(mark) == 1) bad_job("a brace stands alone (write it twice) in: ", sql)
    name <- substr(mark, 2, nchar(mark) - 1)
    if (!name %in% names(parameters)) bad_job("placeholder ", mark, " has no parameter of that name")
    names <- c(names, name)
    texts <- c(texts, between[[number + 1]])
  }
  list(texts = texts, names = names)
}

# How each value is drawn, so ordered that what an offset counts from comes before it.
draws_of <- function(parameters) {
  depth <- function(name, seen = character()) {
    if (name %in% seen) bad_job("parameter ", name, " is an offset of itself")
    of <- parameters[[name]]$of
    if (is.null(of)) 0 else 1 + depth(of, c(seen, name))
  }
  draws <- list()
  for (name in names(parameters)) draws[[name]] <- draw_of(name, parameters[[name]], parameters)
  draws[order(vapply(names(draws), depth, 0))]
}

draw_of <- function(name, document, parameters) {
  fields <- fields_of(document, paste("parameter", name))
  kind <- fields$take("kind", "text")
  draw <- switch(kind,
    uniform_int = uniform(fields$take("low", "whole"), fields$take("high", "whole")),
    sequence = numbers_once(fields$take("first", "whole"), fields$take("last", "whole")),
    offset = offset(name, fields$take("of", "text"), fields$take("by", "whole"), parameters),
    digits = digits(fields$take("template", "text")),
    one_of = one_of(fields$take("values", "list")),
    bad_job("parameter ", name, " is of a kind that this client does not know: ", kind)
  )
  fields$end()
  draw
}

uniform <- function(low, high) {
  if (low > high) bad_job("uniform_int has nothing between ", low, " and ", high)
  function(drawn) low + floor(stats::runif(1) * (high - low + 1))
}

# Each number once, over the one connection that there is.
numbers_once <- function(first, last) {
  following <- first
  force(last)
  function(drawn) {
    if (following > last) stop(exhausted())
    following <<- following + 1
    following - 1
  }
}

offset <- function(name, of, by, parameters) {
  force(by)
  if (!of %in% names(parameters)) bad_job("parameter ", name, " is an offset of ", of, ", which is none")
  function(drawn) drawn[[of]] + by
}

digits <- function(template) {
  marks <- strsplit(template, "")[[1]]
  at <- which(marks == "#")
  function(drawn) {
    marks[at] <- sample.int(10L, length(at), replace = TRUE) - 1L
    paste(marks, collapse = "")
  }
}

one_of <- function(values) {
  if (length(values) == 0) bad_job("one_of has no values")
  function(drawn) values[[sample.int(length(values), 1L)]]
}
