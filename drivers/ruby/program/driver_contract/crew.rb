# All workers, each in a thread that stays, set to work together and watched from the main thread.
# frozen_string_literal: true

require "driver_contract/clock"
require "driver_contract/failure"

module DriverContract
  # The job's workers. Between two tasks each thread waits at a queue, which nobody looks at meanwhile.
  class Crew
    LOOK_S = 1.0

    attr_reader :workers

    def initialize(workers, laboratory, timeout_s)
      @workers, @laboratory, @timeout_s = workers, laboratory, timeout_s
      @done, @finished = IO.pipe
      @lock, @left, @failures = Mutex.new, 0, []
      @gates = workers.map { Queue.new }
      workers.zip(@gates) { |worker, gate| Thread.new { serve(worker, gate) } }
    end

    # Let every worker do this, and wait until all have; `look` is called once a second. Raises Failure where one does, or
    # hangs for longer than the job's timeout; LaboratoryGone. A thread that hangs in a driver cannot be ended: the process
    # is to end.
    def each(look = nil, &task)
      @left = @workers.size
      @gates.each { |gate| gate << task }
      until @laboratory.wait(@done, LOOK_S)
        raise_timeout
        look&.call
      end
      @done.readpartial(1)
      raise @failures.first unless @failures.empty?
    end

    private

    def serve(worker, gate)
      loop do
        task = gate.pop
        begin
          task.call(worker)
        rescue Exception => e # rubocop:disable Lint/RescueException
          @lock.synchronize { @failures << e }
        end
        @lock.synchronize { @finished.write(".") if (@left -= 1).zero? }
      end
    end

    # Raises Failure when a worker has waited longer than the job allows.
    def raise_timeout
      now_ns = Clock.now_ns
      return unless @workers.map(&:busy_since_ns).compact.any? { |since_ns| now_ns - since_ns > @timeout_s * 1e9 }

      raise Failure.new("timeout", "the server has not answered within #{@timeout_s} s")
    end
  end
end
