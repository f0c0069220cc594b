-- sysbench's own oltp_point_select on connections that are kept, held still around the measured window.
--
-- The event and all that it calls are sysbench's. Only the statement is prepared here, outside the event and
-- in the same words, because sysbench would have the table's name be sbtest and a number.

require("oltp_point_select")

function prepare_statements()
   sysbench.opt.point_selects = 1
   local prepared = con:prepare("SELECT c FROM " .. sysbench.opt.table_name .. " WHERE id=?")
   local id = prepared:bind_create(sysbench.sql.type.INT)
   prepared:bind_param(id)
   stmt[1].point_selects = prepared
   param[1].point_selects = {id}
end

require("quiescence").hold_script()
