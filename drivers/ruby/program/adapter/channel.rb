# The orders of drivers/ADAPTERS.md, done on one connection.
# frozen_string_literal: true

require "adapter/failure"
require "json"

module Adapter
  module_function

  # Write a line of JSON, and a body behind it.
  def tell(to, answer, body = "")
    to.write("#{JSON.generate(answer)}\n", body)
    to.flush
  end

  # Operations that are still to be done. What came stays one text, with places in it: a collector of garbage
  # has as little to look at as where a program makes each statement as it needs it.
  class Stock
    attr_reader :count

    # Operations have fields of these types: `i` a whole number, `s` a text.
    def initialize(types)
      @types = types
      empty
    end

    # Throw the rest away.
    def empty
      @text, @places, @next, @count = +"", [0], 0, 0
    end

    # Put these behind.
    def add(count, body)
      text = @count.zero? ? body : "#{@text.byteslice(@places[@next]..)}\x1f#{body}"
      text = text.b.tr("\x1e", "\x1f")
      @places, @next, @count = [0], 0, @count + count
      while (place = text.index("\x1f", @places.last))
        @places << place + 1
      end
      @places << text.bytesize + 1
      @text = text.force_encoding("UTF-8")
    end

    # Take an operation; the place of its first field.
    def take
      first = @next
      @count -= 1
      @next += @types.size
      first
    end

    # A field as a value of its type.
    def field(number)
      begins = @places[number]
      text = @text.byteslice(begins, @places[number + 1] - begins - 1)
      @types[number % @types.size] == "i" ? text.to_i : text
    end
  end

  # A connection, its stock, and the times of operations that are done.
  class Channel
    # A call: its statement where it is prepared, as the driver marks values in it, and the types of its fields.
    Call = Struct.new(:marked, :types)

    def initialize(driver, setup, from, to)
      @driver, @from, @to = driver, from, to
      @on_connect, @reconnect = setup.values_at("on_connect", "reconnect")
      @calls = setup["calls"].map do |call|
        call["prepared"] ? Call.new(@driver.marked(call["pieces"]), call["types"].chars) : Call.new(nil, ["s"])
      end
      @stock = Stock.new(@calls.flat_map(&:types))
      @session, @opened, @times = nil, 0, []
    end

    # Answer every order until there are no more.
    def serve
      while (line = @from.gets)
        words = line.split
        begin
          answer, body = answer_to(words)
        rescue StandardError => e
          answer, body = failed(e), nil
        end
        Adapter.tell(@to, answer, body.to_s)
      end
    end

    private

    def answer_to(words)
      case words.first
      when "open" then open
      when "rows" then rows(words[1].to_i, read(words[2]))
      when "operations" then @stock.add(words[1].to_i, read(words[2])) && {}
      when "empty" then @stock.empty && {}
      when "work" then { operations: work(words[1].to_i) }
      when "report" then report
      when "close" then close
      else raise ArgumentError, "no such order: #{words.first}"
      end
    end

    def read(bytes) = @from.read(bytes.to_i).force_encoding("UTF-8")

    def open
      connect
      make_ready
      { version: @driver.version }
    end

    def connect
      @session = @driver.connect
      @opened += 1
    rescue StandardError => e
      raise Adapter.failure_of(e, opening: true)
    end

    # Say what is to be said on every connection, and prepare each statement once.
    def make_ready
      @on_connect.each { |sql| @session.say(sql) }
      @calls.each { |call| @session.prepare(call.marked) if call.marked }
    end

    def rows(number, body)
      return { rows: shown(@session.say(body)) } if number.negative?

      call = @calls[number]
      fields = body.split("\x1f", -1)
      fields = [""] if fields.empty?
      values = call.types.zip(fields).map { |type, field| type == "i" ? field.to_i : field }
      { rows: shown(run(call, values)) }
    end

    def shown(rows) = rows.map { |row| row.map { |value| Session.shown(value) } }

    def run(call, values)
      call.marked ? @session.run_prepared(call.marked, values) : @session.say(values.first)
    end

    # Do operations of the stock until then; how many.
    def work(until_ns)
      done = 0
      while @stock.count.positive? && (begun_ns = now_ns) < until_ns
        @times.concat(operation(begun_ns))
        done += 1
      end
      done
    end

    # When it began, was connected and ready, had each answer, and was closed.
    def operation(begun_ns)
      place = @stock.take
      times = [begun_ns, begun_ns, begun_ns]
      unless @session
        connect
        times[1] = now_ns
        make_ready
        times[2] = now_ns
      end
      @calls.each do |call|
        values = call.types.map { @stock.field((place += 1) - 1) }
        run(call, values)
        times << now_ns
      end
      close if @reconnect
      times << (@reconnect ? now_ns : times.last)
    end

    def report
      body = @times.empty? ? "" : "#{@times.join(' ')}\n"
      @times = []
      [{ opened: @opened, bytes: body.bytesize }, body]
    end

    def close
      session, @session = @session, nil
      session&.close
      {}
    end

    # Leave the connection fit for the next order; what is to be answered.
    def failed(error)
      failure = Adapter.failure_of(error)
      begin
        close if failure.lost? || @reconnect
      rescue StandardError
        nil
      end
      failure.answer
    end

    # The monotonic clock in nanoseconds.
    def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end
end
