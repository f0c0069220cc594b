# One job from beginning to end: set up, warm up, `ready`, a slice for each `go`, `end`, `done`.
# frozen_string_literal: true

require "driver_contract/clock"
require "driver_contract/crew"
require "driver_contract/driver"
require "driver_contract/job"
require "driver_contract/laboratory"
require "driver_contract/proof"
require "driver_contract/steady"
require "driver_contract/turns"
require "driver_contract/window"
require "driver_contract/worker"
require "open3"

module DriverContract
  module_function

  # Serve one job; the exit status is 0 after `done`.
  def served(name)
    laboratory = Laboratory.new
    Serving.new(name, laboratory).serve
    0
  rescue LaboratoryGone
    1
  rescue Interrupt
    130
  rescue Failure => e
    said_why(laboratory, e)
  rescue StandardError => e
    said_why(laboratory, Failure.new("internal", "#{name} stopped: #{e.class}: #{e.message.gsub(/\s+/, ' ')}"))
  end

  def said_why(laboratory, failure)
    warn(failure.message)
    laboratory.say(failure.event)
    1
  rescue LaboratoryGone
    1
  end

  # The course of one job.
  class Serving
    def initialize(name, laboratory)
      @name, @laboratory = name, laboratory
    end

    # From the job to `done` and the end of input. Raises Failure and LaboratoryGone.
    def serve
      @job = Job.new(@laboratory.line)
      take_the_machines_part
      @driver, @turns, @proof = Driver.new(@job), Turns.new, Proof.new
      workers = Array.new(@job.connections) { |number| Worker.new(number, @job, @driver, @turns) }
      @crew = Crew.new(workers, @laboratory, @job.timeout_s)
      set_up
      slices, steady = warm_up
      @turns.begin(@job.operations)
      @window = Window.new(workers)
      say_ready(slices, steady)
      measure
      @laboratory.wait_for_end
      workers.each(&:drop)
    end

    private

    def say_ready(warmup, steady)
      @laboratory.say(
        {
          event: "ready", client: @name, client_version: @driver.version, pid: Process.pid,
          server_version: @proof.server_version, tls_library: DriverContract.tls_library,
          negotiated: @proof.negotiated, warmup:, steady:
        }
      )
    end

    # Run on the processors that the job names, and let the runtime trust whom it says.
    def take_the_machines_part
      unless @job.cpus.empty?
        list = @job.cpus.join(",")
        _, status = Open3.capture2e("taskset", "-cp", list, Process.pid.to_s)
        raise DriverContract.bad_job("cpus: this machine does not let us run on #{list}") unless status.success?
      end
      return unless @job.tls.trusted_ca_file

      ENV["SSL_CERT_FILE"] = @job.tls.trusted_ca_file
      ENV["SSL_CERT_DIR"] = "/dev/null"
    end

    # Open all connections and ask each what was negotiated; with `reconnect` they are closed again.
    def set_up
      @crew.each do |worker|
        worker.set_up do |session|
          if !@proof.ask(session) && @job.tls.wanted?
            raise Failure.new("no_tls", "mysql2 logged in in the clear, though TLS was asked for")
          end
        end
      end
    end

    # The job's work, until it is steady where that is looked for: its slices, and whether it was.
    def warm_up
      @turns.begin(nil)
      if @job.steady_within_s.zero?
        work_for(@job.warmup_s) if @job.warmup_s.positive?
        return [[], nil]
      end
      slices, begun_ns = [], Clock.now_ns
      until DriverContract.steady?(slices) || @turns.ended?
        return [slices, false] if slices.any? && slices.last[:elapsed_s] >= @job.steady_within_s

        before_us = Clock.cpu_us[:total_us]
        operations = work_for(WARMUP_SLICE_S)
        cpu_us = Clock.cpu_us[:total_us] - before_us
        slices << { elapsed_s: (Clock.now_ns - begun_ns) / 1e9, operations:, cpu_us: }
      end
      [slices, DriverContract.steady?(slices)]
    end

    # Work without keeping anything but the number of operations that succeeded. Raises Failure.
    def work_for(span_s)
      @crew.workers.each { |worker| worker.tally = Tally.new }
      until_ns = Clock.now_ns + (span_s * 1e9).to_i
      @crew.each { |worker| worker.work(until_ns) }
      raise @turns.fatal if @turns.fatal

      @crew.workers.sum { |worker| worker.tally.operations }
    end

    # A slice for each `go`, and `done` at `end`. Raises Failure.
    def measure
      while (length_s = @laboratory.next_slice_s)
        until_ns = @window.open_slice + (length_s * 1e9).to_i
        @crew.each(-> { @laboratory.say(@window.interval) }) { |worker| worker.work(until_ns) }
        raise @turns.fatal if @turns.fatal

        @laboratory.say(@window.close_slice(length_s))
      end
      raise DriverContract.bad_job("`end` came before the first `go`: nothing was measured") unless @window.slices?

      @laboratory.say(@window.done)
    end
  end
end
