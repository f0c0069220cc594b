# The adapter of Perl's drivers (drivers/ADAPTERS.md): `run` serves the job that stands on standard input.
use v5.36;

use FindBin;
use lib "$FindBin::Bin/lib";

use Adapter::Channel qw(send_line);
use Adapter::Failure qw(failure_of);
use JSON::PP ();

$SIG{PIPE} = 'IGNORE';
my $setup = JSON::PP->new->utf8->decode(scalar readline STDIN);
my $driver = eval {
    my $module = $setup->{name} =~ /^dbd-pg-/ ? 'Adapter::Postgres' : 'Adapter::Driver';
    eval "require $module; 1" or die $@;
    $module->new($setup);
};
if (!$driver) {
    send_line(\*STDOUT, failure_of($@)->answer);
    exit 1;
}
send_line(\*STDOUT, { takes => [] });
my ($in_number, $out_number) = @{ $setup->{channels}[0] };
open my $in, '<&=', $in_number or die "no channel: $!\n";
open my $out, '>&=', $out_number or die "no channel: $!\n";
Adapter::Channel->new($driver, $setup, $in, $out)->serve;
