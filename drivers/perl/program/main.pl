# A Perl driver behind tlstax's contract: `run NAME` serves one job, in a process that another one watches.
use v5.36;

use FindBin;
use lib "$FindBin::Bin/lib";

use DriverContract::Driver;
use DriverContract::Watch qw(served_by_watched_worker);

my ($name) = @ARGV;
exit served_by_watched_worker($name, DriverContract::Driver->named($name));
