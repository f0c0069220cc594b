<?php // Asks a database five times by a driver, on connections that are kept or not: keep.php DRIVER PORT CA_FILE HOW.

declare(strict_types=1);

[, $driver, $port, $caFile, $how] = $argv;
$password = getenv('TLSTAX_PASSWORD');
$keeps = $how === 'kept';

for ($time = 0; $time < 5; ++$time) {
    if ($driver === 'mysqli') {
        $connection = mysqli_init();
        $connection->ssl_set(null, null, $caFile, null, null);
        $host = ($keeps ? 'p:' : '') . '127.0.0.1';
        $connection->real_connect($host, 'ann', $password, 'lent', (int) $port, null, MYSQLI_CLIENT_SSL);
        $connection->query('SELECT 1')->fetch_all();
        $connection->close();
    } else {
        $options = [PDO::MYSQL_ATTR_SSL_CA => $caFile, PDO::ATTR_PERSISTENT => $keeps];
        $connection = new PDO("mysql:host=127.0.0.1;port=$port;dbname=lent", 'ann', $password, $options);
        $connection->query('SELECT 1')->fetchAll();
        $connection = null;
    }
}
