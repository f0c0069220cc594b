// Asks a database five times by go-mysql, as an advice says; WHAT, PORT, CA_FILE and the password are in the environment.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"os"

	"github.com/go-mysql-org/go-mysql/client"
)

func main() {
	pem, err := os.ReadFile(os.Getenv("CA_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	switch os.Getenv("WHAT") {
	case "groups":
		config.CurvePreferences = []tls.CurveID{tls.CurveP256}
	case "resumption":
		config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	}
	encrypted := func(c *client.Conn) error {
		c.SetTLSConfig(config)
		return nil
	}
	address, password := "127.0.0.1:"+os.Getenv("PORT"), os.Getenv("TLSTAX_PASSWORD")
	take, giveBack := func() (*client.Conn, error) {
		return client.Connect(address, "ann", password, "lent", encrypted)
	}, func(c *client.Conn) { _ = c.Quit() }
	if os.Getenv("WHAT") == "pool" {
		kept, err := client.NewPoolWithOptions(address, "ann", password, "lent",
			client.WithPoolLimits(1, 1, 1), client.WithConnOptions(encrypted))
		if err != nil {
			log.Fatal(err)
		}
		defer kept.Close()
		take = func() (*client.Conn, error) { return kept.GetConn(context.Background()) }
		giveBack = kept.PutConn
	}
	for range 5 {
		connection, err := take()
		if err != nil {
			log.Fatal(err)
		}
		if _, err := connection.Execute("SELECT 1"); err != nil {
			log.Fatal(err)
		}
		giveBack(connection)
	}
}
