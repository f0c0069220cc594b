# The rules that need no server: options, values, failures, and the orders over a driver that has none.
# frozen_string_literal: true

require "adapter/channel"
require "adapter/driver"
require "stringio"

include Adapter # rubocop:disable Style/MixinUsage

def holds(what, is)
  return if is

  warn("does not hold: #{what}")
  exit(1)
end

# A driver without a server, which notes what it is asked for; it is its connection, too.
class Notebook
  attr_reader :notes

  def initialize = @notes = []
  def version = "1.0"
  def marked(pieces) = pieces.join("?")
  def prepare(sql) = @notes << "prepare #{sql}"
  def close = @notes << "close"

  def connect
    @notes << "connect"
    self
  end

  def say(sql)
    @notes << sql
    raise Mysql2::Error.new("Unknown column", nil, 1054) if sql == "wrong"

    [[1, nil, 1.5]]
  end

  def run_prepared(sql, values)
    @notes << [sql, *values]
    []
  end
end

# The lines that are answered to these orders, and what the driver was asked for.
def answered(reconnect, orders)
  calls = [
    { "pieces" => ["a=", " b=", ""], "types" => "is", "prepared" => true },
    { "pieces" => [""], "types" => "", "prepared" => false }
  ]
  setup = { "calls" => calls, "on_connect" => ["hello"], "reconnect" => reconnect }
  driver, to = Notebook.new, StringIO.new
  Channel.new(driver, setup, StringIO.new(orders), to).serve
  [to.string.lines(chomp: true), driver.notes]
end

FAR_NS = 2**62
def add(*operations) = "operations #{operations.size} #{operations.join("\x1e").bytesize}\n#{operations.join("\x1e")}"

operation = "7\x1fit's ü\x1ftext"
orders = "open\nrows -1 4\nask?#{add(operation)}work #{FAR_NS}\nwork 1\nreport\nclose\n" \
         "#{add(operation)}empty\nwork #{FAR_NS}\n"
lines, notes = answered(false, orders)
asked = ["connect", "hello", "prepare a=? b=?", "ask?", ["a=? b=?", 7, "it's ü"], "text", "close"]
holds("orders without reconnecting", notes == asked)
holds("rows", lines[1] == '{"rows":[["1",null,"1.5"]]}')
holds("one is done, then none is left", lines[2, 3] == ["{}", '{"operations":1}', '{"operations":0}'])
holds("as many bytes as are said", lines[5] == %({"opened":1,"bytes":#{lines[6].bytesize + 1}}))
times = lines[6].split.map(&:to_i)
holds("six times", times.size == 6 && times == times.sort && times[0] == times[2] && times[4] == times[5])
holds("none is left of a stock that was emptied", lines.last == '{"operations":0}')

lines, notes = answered(true, "#{add("7\x1fx\x1fwrong")}work #{FAR_NS}\nreport\n#{add(operation)}work #{FAR_NS}\n")
holds("a failure", lines[1].include?('"kind":"server_error"') && lines[1].include?('"code":1054'))
holds("its times are dropped", lines[2] == '{"opened":1,"bytes":0}')
holds("closed each time, and done again", notes.count("close") == 2 && lines[4] == '{"operations":1}')

stock = Stock.new(%w[s i])
stock.add(2, "\x1f1\x1eü\x1f2")
holds("an empty text and a number", (place = stock.take).zero? && stock.field(place).empty? && stock.field(place + 1) == 1)
stock.add(1, "c\x1f3")
fields = Array.new(2) { stock.take }.flat_map { |first| [stock.field(first), stock.field(first + 1)] }
holds("what comes later stands behind", fields == ["ü", 2, "c", 3] && stock.count.zero?)

def settings(**changes)
  setup = {
    endpoint: { kind: "tcp", host: "h", port: 1 }, account: { user: "u", password: "p" }, tls: { mode: "off" },
    options: {}, **changes
  }
  Driver.new(JSON.parse(JSON.generate(setup))).settings
end
options = settings(options: { reconnect: "true", connect_timeout: "10", ssl_mode: "required" })
holds("options", options.values_at(:reconnect, :connect_timeout, :ssl_mode) == [true, 10, :required])
refused =
  begin
    settings(options: { nonsense: "1" })
  rescue Failure => e
    e.answer[:failure].values_at(:kind, :by)
  end
holds("an option that it has not", refused == %w[bad_job adapter])
options = settings(tls: { mode: "on", verify: "none", versions: %w[1.2 1.3] })
holds("the versions that are asked for", File.read(options[:default_file]).include?("tls_version=TLSv1.2,TLSv1.3\n"))

kind = ->(number, words) { Adapter.failure_of(Mysql2::Error.new(words, nil, number)).answer[:failure][:kind] }
holds("access denied", kind.call(1045, "Access denied") == "access_denied")
holds("an error of the server keeps the connection", !Adapter.failure_of(Mysql2::Error.new("", nil, 1054)).lost?)
holds("no TLS", kind.call(2026, "SSL is required, but the server does not support it") == "no_tls")
holds("a certificate", kind.call(2026, "self-signed certificate in chain") == "certificate")
shown = [nil, 1.5, 2.0, 1e30, BigDecimal("0.10"), BigDecimal("3"), "a"].map { |value| Session.shown(value) }
holds("values as text", shown == [nil, "1.5", "2", "1e30", "0.1", "3", "a"])
