-- sysbench's own oltp_point_select on connections that are kept, held still around the measured window.
--
-- The event and all that it calls are sysbench's. Only the statement is prepared here, outside the event and
-- in the same words, because sysbench would have the table's name be sbtest and a number. The table is the
-- only one, so its statements are laid out here as well: once, on a busy machine, a thread had come here
-- without the list that sysbench's thread_init had just made for it (LuaJIT 2.1-20230119).

require("oltp_point_select")

function prepare_statements()
   if sysbench.opt.tables ~= 1 then
      error("sysbench read " .. tostring(sysbench.opt.tables) .. " tables from its options, not 1")
   end
   sysbench.opt.point_selects = 1
   local prepared = con:prepare("SELECT c FROM " .. sysbench.opt.table_name .. " WHERE id=?")
   local id = prepared:bind_create(sysbench.sql.type.INT)
   prepared:bind_param(id)
   stmt = {{point_selects = prepared}}
   param = {{point_selects = {id}}}
end

require("quiescence").hold_script()
