-- Holds sysbench 1.0.20 still before and after the measured window, and tells the adapter what it sees.
--
-- sysbench starts its clock when the last thread has returned from thread_init. So every thread connects,
-- proves what it has, warms up and says `ready` there; all but the first then wait at sysbench's own barrier,
-- and the first waits for the adapter's word. In thread_done, which comes after a thread's last event, each
-- notes the time, says `over` and waits, before anything is counted or closed. Only that much of ours is in
-- the window: two system calls a thread.
--
-- Messages are JSON, one a line, each written at once: a pipe keeps writes of up to PIPE_BUF (4096) bytes
-- apart (pipe(7)). The names in the declarations are sysbench's, libmariadb's, OpenSSL's and libc's.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long tv_sec; long tv_nsec; } tlstax_time;
int clock_gettime(int clock, tlstax_time *time);
long read(int descriptor, void *buffer, size_t size);
long write(int descriptor, const void *buffer, size_t size);
unsigned int alarm(unsigned int seconds);
int usleep(unsigned int microseconds);

extern uint64_t sb_globals[8];
uint64_t sb_counter_val(int thread, sb_counter_type counter);

/* A connection begins like this (db_driver.h); the driver's own part begins with its MYSQL pointer. */
typedef struct {
   sql_error_t error;
   int sql_errno;
   const char *sql_state;
   const char *sql_errmsg;
   sql_driver *driver;
   void **own;
} tlstax_connection;

unsigned long mysql_thread_id(void *mysql);
const char *mysql_get_server_info(void *mysql);
const char *mysql_get_client_info(void);
const char *mysql_get_ssl_cipher(void *mysql);
int mariadb_get_infov(void *mysql, int what, void *answer, ...);
const char *OpenSSL_version(int what);
]]

local CLOCK_MONOTONIC = 1
local MARIADB_CONNECTION_TLS_VERSION = 23
local TIME_LIMIT = 4 -- the place of max_time_ns in sb_globals, in words of eight bytes
local LONGEST_TEXT = 1000

local OVER = '{"say":"over"}\n'

local quiescence = {}
local before = {}
local restarts = {}
local time = ffi.new("tlstax_time[1]")
local buffer = ffi.new("char[1]")

-- Adds the options that the adapter gives to those of the script.
function quiescence.add_options()
   local options = sysbench.cmdline.options or {}
   options.table_name = {"Table to select from", "sbtest1"}
   options.table_size = {"Number of rows in the table", 10000}
   options.tlstax_on_connect = {"Statements to begin every connection with, a unit separator after each", ""}
   options.tlstax_report = {"Descriptor to write messages to", 0}
   options.tlstax_window = {"Descriptor on which a byte opens the window, and its end closes it", 0}
   options.tlstax_leave = {"Descriptor whose end lets the threads close their connections", 0}
   options.tlstax_warmup_us = {"How long each thread works before it is ready", 0}
   options.tlstax_duration_us = {"How long events are started for", 0}
   options.tlstax_samples = {"How many samples of the work to show", 0}
   options.tlstax_sampled_rows = {"How many rows each of them spans", 1}
   sysbench.cmdline.options = options
end

local function noted_ns()
   return tonumber(time[0].tv_sec) * 1e9 + tonumber(time[0].tv_nsec)
end

local function now_ns()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return noted_ns()
end

local function quoted(text)
   local escaped = text:sub(1, LONGEST_TEXT):gsub('[%c"\\]', function(character)
      return string.format("\\u%04x", character:byte())
   end)
   return '"' .. escaped .. '"'
end

local function optional(pointer)
   return pointer ~= nil and quoted(ffi.string(pointer)) or "null"
end

local function say(form, ...)
   local line = string.format(form, ...) .. "\n"
   if ffi.C.write(sysbench.opt.tlstax_report, line, #line) ~= #line then
      error("the adapter does not listen")
   end
end

-- Blocks until the adapter writes a byte (1) or closes its end (0).
local function wait_on(descriptor)
   return tonumber(ffi.C.read(descriptor, buffer, 1))
end

local function counted(counter)
   return tonumber(ffi.C.sb_counter_val(sysbench.tid, counter))
end

-- The client library's own connection. Its id proves that we look at the right place.
local function library_connection(con)
   local mysql = ffi.cast("tlstax_connection *", con).own[0]
   local id = con:query_row("SELECT CONNECTION_ID()")
   if tonumber(id) ~= tonumber(ffi.C.mysql_thread_id(mysql)) then
      error("this sysbench does not keep its connections where 1.0.20 does")
   end
   return mysql
end

local function client_view(mysql)
   local version = ffi.new("const char *[1]")
   ffi.C.mariadb_get_infov(mysql, MARIADB_CONNECTION_TLS_VERSION, version)
   return string.format('{"version":%s,"cipher":%s}',
                        optional(version[0]), optional(ffi.C.mysql_get_ssl_cipher(mysql)))
end

local function server_view(con)
   local answer = con:query("SHOW SESSION STATUS LIKE 'Ssl%'")
   local known = {Ssl_version = "null", Ssl_cipher = "null", Ssl_sessions_reused = "null"}
   for _ = 1, answer.nrows do
      local row = answer:fetch_row()
      if known[row[1]] then
         known[row[1]] = row[2] and quoted(row[2]) or "null"
      end
   end
   answer:free()
   return string.format('{"version":%s,"cipher":%s,"sessions_reused":%s}',
                        known.Ssl_version, known.Ssl_cipher, known.Ssl_sessions_reused)
end

-- Says what every connection is to begin with.
function quiescence.greet(con)
   for statement in sysbench.opt.tlstax_on_connect:gmatch("[^\31]+") do
      con:query(statement)
   end
end

-- Asks both sides what this connection is; to be called in thread_init.
function quiescence.prove(con)
   local mysql = library_connection(con)
   say('{"say":"proof","thread":%d,"client":%s,"server":%s,"server_version":%s,"client_library":%s,"tls_library":%s}',
       sysbench.tid, client_view(mysql), server_view(con), optional(ffi.C.mysql_get_server_info(mysql)),
       optional(ffi.C.mysql_get_client_info()), optional(ffi.C.OpenSSL_version(0)))
end

-- Shows some of the table's rows as they came back, one a message; to be called in thread_init.
function quiescence.show_rows(con)
   for sample = 1, sysbench.tid == 0 and sysbench.opt.tlstax_samples or 0 do
      local sql = quiescence.statement()
      local answer = con:query(sql)
      say('{"say":"sample","sql":%s}', quoted(sql))
      for _ = 1, answer.nrows do
         local row = answer:fetch_row()
         say('{"say":"row","value":%s}', row[1] and quoted(row[1]) or "null")
      end
      answer:free()
   end
end

-- The workload's select with an id drawn as the stock scripts draw it.
function quiescence.statement()
   local id, span = sysbench.rand.default(1, sysbench.opt.table_size), sysbench.opt.tlstax_sampled_rows
   if span > 1 then
      return string.format("SELECT c FROM %s WHERE id BETWEEN %d AND %d", sysbench.opt.table_name, id, id + span - 1)
   end
   return string.format("SELECT c FROM %s WHERE id=%d", sysbench.opt.table_name, id)
end

-- An event begins anew after an error that sysbench ignores (1213, 1020 and 1205 unless told otherwise). It
-- counts them all in one; here they are told apart.
local function count_restarts()
   local own = sysbench.hooks.before_restart_event
   function sysbench.hooks.before_restart_event(failed)
      restarts[failed.sql_errno] = (restarts[failed.sql_errno] or 0) + 1
      if own then
         own(failed)
      end
   end
end

-- One unmeasured event. Where sysbench would begin it anew, the warm-up goes on with the next one.
local function warm_up_once()
   local went, failed = pcall(event, sysbench.tid)
   if not went and (type(failed) ~= "table" or failed.errcode ~= sysbench.error.RESTART_EVENT) then
      error(failed, 0)
   end
end

-- sysbench gives up 30 s after it has started its threads, by alarm(2), whatever they wait for. The alarm is
-- set after the threads are started, so the first thread waits for it before it takes it away: the adapter
-- knows better what took too long.
local function take_alarm_away()
   while ffi.C.alarm(0) == 0 do
      ffi.C.usleep(1000)
   end
end

-- --time takes whole seconds only; sysbench itself counts in nanoseconds. What --time was given stands at the
-- right place, or the place is wrong.
local function set_time_limit()
   if ffi.C.sb_globals[TIME_LIMIT] ~= sysbench.opt.time * 1000000000ULL then
      error("this sysbench does not keep its time limit where 1.0.20 does")
   end
   ffi.C.sb_globals[TIME_LIMIT] = sysbench.opt.tlstax_duration_us * 1000ULL
end

-- Warms up, says `ready` and holds still; to be called last in thread_init.
function quiescence.hold()
   local first = sysbench.tid == 0
   local warm_ns = now_ns() + sysbench.opt.tlstax_warmup_us * 1000
   local warmup_events = 0
   while now_ns() < warm_ns do
      warm_up_once()
      warmup_events = warmup_events + 1
   end
   count_restarts()
   before.events, before.errors = counted(ffi.C.SB_CNT_TRX), counted(ffi.C.SB_CNT_ERROR)
   if first then
      take_alarm_away()
      set_time_limit()
   end
   say('{"say":"ready","thread":%d,"warmup_events":%d}', sysbench.tid, warmup_events)
   if first then
      if wait_on(sysbench.opt.tlstax_window) ~= 1 then
         error("the adapter is gone")
      end
      say('{"say":"started","at_ns":%.0f}', now_ns())
   end
end

local function counts_by_code()
   local counts = {}
   for code, count in pairs(restarts) do
      counts[#counts + 1] = string.format('"%d":%d', code, count)
   end
   return "{" .. table.concat(counts, ",") .. "}"
end

-- Ends the window: holds still until the adapter has read the clocks, then says how the window went and
-- waits until that is passed on; to be called first in thread_done.
function quiescence.finish()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   ffi.C.write(sysbench.opt.tlstax_report, OVER, #OVER)
   wait_on(sysbench.opt.tlstax_window)
   say('{"say":"finished","thread":%d,"at_ns":%.0f,"events":%d,"errors":%d,"restarts":%s}', sysbench.tid,
       noted_ns(), counted(ffi.C.SB_CNT_TRX) - before.events, counted(ffi.C.SB_CNT_ERROR) - before.errors,
       counts_by_code())
   wait_on(sysbench.opt.tlstax_leave)
end

-- Holds a script still that keeps its connection in `con`, as the stock ones do; to be called when it is loaded.
function quiescence.hold_script()
   quiescence.add_options()
   local open, close = thread_init, thread_done

   function thread_init()
      open()
      quiescence.greet(con)
      quiescence.prove(con)
      quiescence.show_rows(con)
      quiescence.hold()
   end

   function thread_done()
      quiescence.finish()
      close()
   end
end

return quiescence
