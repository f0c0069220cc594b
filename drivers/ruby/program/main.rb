# The adapter of Ruby's driver (drivers/ADAPTERS.md): `run` serves the job that stands on standard input.
# frozen_string_literal: true

$LOAD_PATH.unshift(__dir__)

require "adapter/channel"
require "json"

setup = JSON.parse($stdin.gets)
require setup["name"].start_with?("ruby-pg-") ? "adapter/postgres" : "adapter/driver"
begin
  driver = Adapter::Driver.new(setup)
rescue StandardError => e
  Adapter.tell($stdout, Adapter.failure_of(e).answer)
  exit!(1)
end
Adapter.tell($stdout, { takes: [] })
setup["channels"].each do |numbers|
  from, to = numbers.zip(%w[rb wb]).map { |number, mode| IO.for_fd(number, mode, autoclose: false) }
  Thread.new { Adapter::Channel.new(driver, setup, from, to).serve }
end
# A thread that waits in a driver would keep the interpreter.
$stdin.read
exit!(0)
