# A Ruby driver behind tlstax's contract: `run NAME` serves one job on standard input.
# frozen_string_literal: true

$LOAD_PATH.unshift(__dir__)

require "driver_contract/serving"

# A thread that waits in a driver would keep the interpreter.
status = DriverContract.served(ARGV.fetch(0))
$stdout.flush
exit!(status)
