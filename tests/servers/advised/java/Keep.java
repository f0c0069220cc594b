// Asks a database five times over connections that a pool keeps: Keep URL [own], the password in the environment.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

public final class Keep {
  private static final int TIMES = 5;

  private interface Source {
    Connection get() throws SQLException;
  }

  private static void ask(Source source) throws SQLException {
    for (int time = 0; time < TIMES; time++) {
      try (Connection connection = source.get(); Statement statement = connection.createStatement()) {
        statement.executeQuery("SELECT 1").close();
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0];
    String password = System.getenv("TLSTAX_PASSWORD");
    if (arguments.length > 1) {
      ask(() -> DriverManager.getConnection(url, "ann", password));
      System.exit(0);
    }
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername("ann");
    config.setPassword(password);
    config.setMaximumPoolSize(1);
    try (HikariDataSource pool = new HikariDataSource(config)) {
      ask(pool::getConnection);
    }
  }
}
