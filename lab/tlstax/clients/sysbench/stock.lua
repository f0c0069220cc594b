-- A stock script of sysbench's, named by the environment, held still around the measured window.
--
-- Its event, its statements and its table are sysbench's own. The name must be known before sysbench reads its
-- options, which the script adds to.

require(os.getenv("TLSTAX_STOCK_SCRIPT"))
require("quiescence").hold_script()
