// How a connection is opened: what the driver is told, and how many it opened.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// opener is the driver's connector; it counts, and keeps what the last TLS handshake agreed on.
type opener struct {
	driver.Connector
	interpolates bool
	hasOptions   bool
	opened       atomic.Int64
	lastTLS      atomic.Pointer[tls.ConnectionState]
}

// Connect opens one connection.
func (o *opener) Connect(ctx context.Context) (driver.Conn, error) {
	connection, err := o.Connector.Connect(ctx)
	if err == nil {
		o.opened.Add(1)
	}
	return connection, err
}

// newOpener tells the driver what the job says: the endpoint, the account and encryption, then its own
// options, which win. An option that it refuses is a bad_job.
func newOpener(job *Job) (*opener, *Failure) {
	config, err := mysql.ParseDSN(dsn(job))
	if err != nil {
		return nil, badJob("%s says: %s", clientName, err)
	}
	config.User, config.Passwd = job.Account.User, job.Account.Password
	made := &opener{hasOptions: len(job.Driver.Options) > 0, interpolates: config.InterpolateParams}
	if _, ownWord := job.Driver.Options["tls"]; job.TLS.Mode == "on" && !ownWord {
		terms, failure := made.tlsConfig(&job.TLS)
		if failure != nil {
			return nil, failure
		}
		config.TLS = terms
	}
	if job.TLS.Mode == "unset" && job.TLS.TrustedCAFile != nil {
		// crypto/x509 reads it when the machine's trusted certificates are first asked for.
		_ = os.Setenv("SSL_CERT_FILE", *job.TLS.TrustedCAFile)
	}
	made.Connector, err = mysql.NewConnector(config)
	if err != nil {
		return nil, badJob("%s says: %s", clientName, err)
	}
	return made, nil
}

// dsn is the data source name without the account, whose characters would have to be escaped.
func dsn(job *Job) string {
	place := "unix(" + job.Endpoint.Path + ")"
	if job.Endpoint.Kind == "tcp" {
		place = "tcp(" + net.JoinHostPort(job.Endpoint.Host, strconv.Itoa(job.Endpoint.Port)) + ")"
	}
	database := ""
	if job.Account.Database != nil {
		database = url.PathEscape(*job.Account.Database)
	}
	words := url.Values{}
	if job.TLS.Mode == "off" {
		words.Set("tls", "false")
	}
	for name, value := range job.Driver.Options {
		words.Set(name, value)
	}
	return place + "/" + database + "?" + words.Encode()
}

var tlsVersions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

// tlsConfig is what crypto/tls is told. Its hook sees every handshake, to tell what was agreed on.
func (o *opener) tlsConfig(terms *TLS) (*tls.Config, *Failure) {
	config := &tls.Config{InsecureSkipVerify: terms.Verify != "identity"}
	if terms.MinVersion != nil {
		config.MinVersion = tlsVersions[*terms.MinVersion]
	}
	if terms.MaxVersion != nil {
		config.MaxVersion = tlsVersions[*terms.MaxVersion]
	}
	if terms.ServerName != nil {
		config.ServerName = *terms.ServerName
	}
	if terms.CAFile != nil {
		text, err := os.ReadFile(*terms.CAFile)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, badJob("tls.ca_file %s holds no certificate that can be read", *terms.CAFile)
		}
	}
	if terms.CertificateFile != nil && terms.KeyFile != nil {
		own, err := tls.LoadX509KeyPair(*terms.CertificateFile, *terms.KeyFile)
		if err != nil {
			return nil, badJob("the client certificate of tls.certificate_file cannot be used: %s", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	roots, chain := config.RootCAs, terms.Verify == "ca"
	config.VerifyConnection = func(state tls.ConnectionState) error {
		o.lastTLS.Store(&state)
		if chain {
			return verifyChain(&state, roots)
		}
		return nil
	}
	return config, nil
}

// verifyChain checks who signed, and not for which host: crypto/tls does both or neither.
func verifyChain(state *tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// viewOf names what was agreed on as OpenSSL prints it, groups as IANA's registry has them.
func viewOf(state *tls.ConnectionState) *TLSView {
	view := &TLSView{
		Version: "TLSv" + strings.TrimPrefix(tls.VersionName(state.Version), "TLS "),
		Cipher:  cipherName(tls.CipherSuiteName(state.CipherSuite)),
		Resumed: &state.DidResume,
	}
	groups := map[tls.CurveID]string{
		tls.X25519: "x25519", tls.CurveP256: "secp256r1", tls.CurveP384: "secp384r1", tls.CurveP521: "secp521r1",
	}
	if state.CurveID != 0 {
		name, known := groups[state.CurveID]
		if !known {
			name = fmt.Sprint(state.CurveID)
		}
		view.Group = &name
	}
	return view
}

// cipherName turns IANA's name of a cipher suite into OpenSSL's; those of TLS 1.3 have one name.
func cipherName(registered string) string {
	exchange, cipher, found := strings.Cut(strings.TrimPrefix(registered, "TLS_"), "_WITH_")
	if !found {
		return registered
	}
	if strings.HasPrefix(cipher, "CHACHA20") {
		cipher = "CHACHA20-POLY1305"
	}
	cipher = strings.NewReplacer("AES_", "AES", "_CBC", "", "_", "-").Replace(cipher)
	if exchange == "RSA" {
		return cipher
	}
	return strings.ReplaceAll(exchange, "_", "-") + "-" + cipher
}
