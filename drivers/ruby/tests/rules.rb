# The rules that need no server: statements, sequences, steady warm-ups, failures, lines; then a histogram of what it is given.
# frozen_string_literal: true

require "driver_contract/serving"

include DriverContract # rubocop:disable Style/MixinUsage

def holds(what, is)
  return if is

  warn("does not hold: #{what}")
  exit(1)
end

# The kind of the failure that the block raises; nil where it raises none.
def refusal
  yield
  nil
rescue Failure => e
  e.kind
end

def slices(*costs_us) = costs_us.map { |cost| { elapsed_s: 0.1, operations: 100, cpu_us: 100.0 * cost } }

def job_with(**changes)
  Job.new(
    JSON.generate(
      {
        schema: 2, endpoint: { kind: "tcp", host: "h", port: 1 }, account: { user: "u", password: "p" },
        tls: { mode: "off" }, workload: { statements: [{ sql: "SELECT 1" }] }, connections: 1, duration_s: 1, seed: 1,
        **changes
      }
    )
  )
end

def statement(sql, parameters = {}) = Statement.new({ "sql" => sql, "parameters" => parameters }, "text")

random = Random.new(1)
made = statement(
  "SELECT '{{?}}' WHERE a BETWEEN {id} AND {high} AND w = {word} AND c = {code}",
  {
    "high" => { "kind" => "offset", "of" => "id", "by" => 9 },
    "id" => { "kind" => "uniform_int", "low" => 5, "high" => 5 },
    "word" => { "kind" => "one_of", "values" => ["it's"] }, "code" => { "kind" => "digits", "template" => "##-a-####" }
  }
)
values = made.draw(random)
holds("values in the order of the placeholders", values.first(3) == [5, 14, "it's"])
holds("a digit for each mark", values.last.match?(/\A\d\d-a-\d{4}\z/))
holds(
  "literals",
  made.literal(values).match?(/\ASELECT '\{\?\}' WHERE a BETWEEN 5 AND 14 AND w = 'it''s' AND c = '\d\d-a-\d{4}'\z/)
)
holds("a mark for each value", made.marked.end_with?("BETWEEN ? AND ? AND w = ? AND c = ?"))
holds("a backslash in hexadecimal", Statement.literal_of("a\\") == "_utf8mb4 0x615c")

sequence = statement("{id}", { "id" => { "kind" => "sequence", "first" => 1, "last" => 2 } })
given = Array.new(3) do
  sequence.draw(random)
rescue Exhausted
  "exhausted"
end
holds("a sequence gives each number once", given == [[1], [2], "exhausted"])
["SELECT {id}", "SELECT {", "SELECT }"].each do |sql|
  holds("a bad job: #{sql}", refusal { statement(sql) } == "bad_job")
end

holds("nine slices are too few", !DriverContract.steady?(slices(*[10] * 9)))
holds("ten alike are steady", DriverContract.steady?(slices(*[10] * 10)))
holds("falling costs are not", !DriverContract.steady?(slices(*[10] * 5, *[9.4] * 5)))
holds("nearly alike are", DriverContract.steady?(slices(*[10] * 5, *[9.6] * 5)))
holds("slices in which nothing was done are not", !DriverContract.steady?([{ operations: 0, cpu_us: 5.0 }] * 10))

holds("a job", refusal { job_with }.nil?)
bad = {
  "another schema" => { schema: 1 }, "an unknown field" => { new: 1 }, "a reset" => { reset: ["DELETE"] },
  "groups" => { tls: { mode: "on", groups: "X25519" } }, "a batch" => { driver: { batch: 2 } },
  "more than required" => { tls: { mode: "required", verify: "ca" } },
  "an open loop" => { schedule: { mode: "open", rate_per_s: 1 } }
}
bad.each { |what, changes| holds("a bad job: #{what}", refusal { job_with(**changes) } == "bad_job") }
versions = job_with(tls: { mode: "on", min_version: "1.2" }).tls.versions
holds("the versions that are asked for", versions == %w[1.2 1.3])
options = job_with(driver: { options: { a: "true", b: "10", c: "required" } }).options
holds("options", options == { "a" => true, "b" => 10, "c" => "required" })

["go", "go 0", "go -1", "go nan", "go inf", "go 1 2", "go 4e7"].each do |line|
  holds("a bad line: #{line}", refusal { Laboratory.slice_length_s(line.split) } == "bad_job")
end
holds("a year is the longest slice", Laboratory.slice_length_s(%w[go 31557600]) == 31_557_600)

turns = Turns.new
turns.begin(2)
holds("two operations", [turns.take, turns.take, turns.take] == [true, true, false])
turns.begin(nil)
99.times { turns.failed(Failure.new("server_error", "no")) }
holds("99 failures in a row", turns.take)
holds("100 failures in a row", turns.failed(Failure.new("server_error", "no")) && !turns.take && turns.fatal)

failure = ->(number, words) { DriverContract.failure_of(Mysql2::Error.new(words, nil, number), "geheim") }
holds("access denied", failure.call(1045, "Access denied for geheim").kind == "access_denied")
holds("without the password", !failure.call(1045, "Access denied for geheim").message.include?("geheim"))
holds("an error of the server keeps the connection", !failure.call(1054, "Unknown column").lost)
holds("no TLS", failure.call(2026, "SSL is required, but the server does not support it").kind == "no_tls")
holds("a certificate", failure.call(2026, "self-signed certificate in chain").kind == "certificate")
shown = [nil, 1.5, 2.0, 1e30, BigDecimal("0.10"), BigDecimal("3"), "a"].map { |value| Session.shown(value) }
holds("values as text", shown == [nil, "1.5", "2", "1e30", "0.1", "3", "a"])

histogram, other = Histogram.new, Histogram.new
$stdin.read.split.map(&:to_i).each_with_index { |value, place| (place.even? ? histogram : other).record(value) }
histogram.add(other)
puts histogram.encoded
