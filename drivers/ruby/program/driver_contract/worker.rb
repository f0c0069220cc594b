# A thread's work: operations on a connection of its own, one after the other, each timed.
# frozen_string_literal: true

require "driver_contract/clock"
require "driver_contract/driver"
require "driver_contract/histogram"

module DriverContract
  # What a worker did in one span of time; latencies in nanoseconds, by phase.
  class Tally
    attr_accessor :started, :operations, :latency_sum_ns, :last_answer_ns, :connections
    attr_reader :histograms, :errors, :samples

    def initialize
      @started = @operations = @latency_sum_ns = @last_answer_ns = @connections = 0
      @histograms = Hash.new { |all, phase| all[phase] = Histogram.new }
      @errors, @samples = Hash.new(0), []
    end
  end

  # One connection's operations. `busy_since_ns` is when it began what it waits for, nil when nothing.
  class Worker
    attr_accessor :tally
    attr_reader :opened, :busy_since_ns

    def initialize(number, job, driver, turns)
      @job, @driver, @turns = job, driver, turns
      @random = Random.new((job.seed.to_i << 20) + number)
      wanted = job.changes_data? ? 0 : job.row_samples
      @wanted_samples = wanted / job.connections + (number < wanted % job.connections ? 1 : 0)
      @opened, @session, @tally = 0, nil, Tally.new
    end

    # A connection. Raises Failure.
    def open
      session = @driver.connect
      @opened += 1
      @tally.connections += 1
      session
    rescue StandardError => e
      raise DriverContract.failure_of(e, @job.password, opening: true)
    end

    # Say what the job wants to be said on every connection.
    def greet(session) = @job.on_connect.each { |sql| session.say(sql) }

    # Open a connection and have the block ask it; then keep it, or close it where the job reconnects. Raises Failure.
    def set_up
      @busy_since_ns = Clock.now_ns
      session = open
      greet(session)
      yield session
      @job.reconnect ? session.close : @session = session
    rescue StandardError => e
      raise DriverContract.failure_of(e, @job.password)
    ensure
      @busy_since_ns = nil
    end

    # Do operations until then, or until there are no more, or the job has failed.
    def work(until_ns)
      while Clock.now_ns < until_ns && @turns.take
        calls = drawn
        @tally.started += 1
        @busy_since_ns = Clock.now_ns
        break if tried(calls)
      end
    rescue Exhausted
      @turns.end
    ensure
      @busy_since_ns = nil
    end

    # Hang up on the kept connection, whether or not it is of use.
    def drop
      @session&.close
    rescue StandardError
      nil
    ensure
      @session = nil
    end

    private

    # Do one operation; whether the job is over.
    def tried(calls)
      @job.reconnect ? reconnecting(calls) : keeping(calls)
      @tally.operations += 1
      @turns.succeeded
      false
    rescue StandardError => e
      @tally.last_answer_ns = Clock.now_ns
      failed(DriverContract.failure_of(e, @job.password))
    end

    # All that an operation says. Raises Exhausted.
    def drawn
      @job.statements.flat_map do |statement|
        Array.new(statement.repeat) { [statement, statement.draw(@random)] }
      end
    end

    def keeping(calls)
      begun_ns = Clock.now_ns
      greet(@session = open) unless @session
      say(@session, calls)
      note(begun_ns, Clock.now_ns)
    end

    def reconnecting(calls)
      begun_ns = Clock.now_ns
      session = @session = open
      connected_ns = Clock.now_ns
      greet(session)
      say(session, calls)
      said_ns = Clock.now_ns
      @session = nil
      session.close
      ended_ns = Clock.now_ns
      @tally.histograms["connect"].record(connected_ns - begun_ns)
      @tally.histograms["close"].record(ended_ns - said_ns)
      note(begun_ns, ended_ns)
    end

    def note(begun_ns, ended_ns)
      @tally.histograms["operation"].record(ended_ns - begun_ns)
      @tally.latency_sum_ns += ended_ns - begun_ns
      @tally.last_answer_ns = ended_ns
    end

    def say(session, calls)
      calls.each do |statement, values|
        begun_ns = Clock.now_ns
        rows = statement.prepared ? session.run_prepared(statement.marked, values) : session.say(statement.literal(values))
        @tally.histograms[session.fresh ? "first_query" : "query"].record(Clock.now_ns - begun_ns)
        session.fresh = false
        @tally.samples << [statement.literal(values), rows] if rows && @tally.samples.size < @wanted_samples
      end
    end

    # Count a failure and leave the connection fit for the next operation; whether the job is over.
    def failed(failure)
      @tally.errors[[failure.kind, failure.number]] += 1
      drop if failure.lost || @job.reconnect
      @turns.failed(failure)
    end
  end
end
