-- Connects, selects one row by its id with a text query, disconnects: the workload `reconnect` in sysbench.

local quiescence = require("quiescence")

quiescence.add_options()

local driver

function event()
   local connection = driver:connect()
   quiescence.greet(connection)
   connection:query(quiescence.statement())
   connection:disconnect()
end

function thread_init()
   driver = sysbench.sql.driver()
   local connection = driver:connect()
   quiescence.greet(connection)
   quiescence.prove(connection)
   quiescence.show_rows(connection)
   connection:disconnect()
   quiescence.hold()
end

function thread_done()
   quiescence.finish()
end
