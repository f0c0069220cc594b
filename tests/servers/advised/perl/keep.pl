# Asks a database five times by a driver, on connections that are kept or not: keep.pl DRIVER PORT CA_FILE HOW.
use v5.36;

use DBI;

my ($driver, $port, $ca_file, $how) = @ARGV;
my ($name, $words) =
    $driver eq 'dbd-mysql'
    ? ('mysql', "mysql_ssl=1;mysql_ssl_optional=1;mysql_ssl_ca_file=$ca_file;mysql_ssl_verify_server_cert=1")
    : ('MariaDB', "mariadb_ssl=1;mariadb_ssl_ca_file=$ca_file");
my $connect = $how eq 'kept' ? 'connect_cached' : 'connect';

for (1 .. 5) {
    my $dsn = "dbi:$name:host=127.0.0.1;port=$port;database=lent;$words";
    my $handle = DBI->$connect($dsn, 'ann', $ENV{TLSTAX_PASSWORD}, { RaiseError => 1, PrintError => 0 });
    $handle->selectall_arrayref('SELECT 1');
}
