# A JSON object read field by field: what is missing, of another type or left over is a bad job.

FITS <- list(
  text = function(value) is.character(value) && length(value) == 1,
  whole = function(value) is.numeric(value) && length(value) == 1 && value == trunc(value),
  number = function(value) is.numeric(value) && length(value) == 1,
  truth = function(value) is.logical(value) && length(value) == 1 && !is.na(value),
  list = function(value) is.list(value) && is.null(names(value)),
  object = function(value) is.list(value) && (length(value) == 0 || !is.null(names(value)))
)

# One JSON object of the job, of which every field is to be taken: an environment with its functions.
fields_of <- function(value, where) {
  if (!FITS$object(value)) bad_job(where, " is not an object in this job")
  left <- value
  self <- environment()
  # The field, or another value where it is absent or null.
  maybe <- function(name, type, otherwise = NULL) {
    value <- self$left[[name]]
    self$left[[name]] <- NULL
    if (is.null(value)) return(otherwise)
    if (!FITS[[type]](value)) bad_job(where, ".", name, " is not a ", type, " in this job")
    value
  }
  # The field, which has this type.
  take <- function(name, type) {
    value <- maybe(name, type)
    if (is.null(value)) bad_job(where, " has no ", name, " in this job")
    value
  }
  # A field that this client can do nothing with has to be empty, false or absent.
  refuse <- function(name, why) {
    value <- self$left[[name]]
    self$left[[name]] <- NULL
    if (length(value) > 0 && !identical(value, FALSE)) bad_job(where, ".", name, ": ", why)
  }
  # Fields that have no meaning for this client.
  ignore <- function(...) for (name in c(...)) self$left[[name]] <- NULL
  # Nothing is left over.
  end <- function() {
    unknown <- setdiff(names(self$left), names(Filter(is.null, self$left)))
    if (length(unknown) > 0) bad_job(where, " has a field that this client does not know: ", sort(unknown)[[1]])
  }
  self
}
