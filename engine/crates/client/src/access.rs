//! From a job to where a client goes, as whom it logs in and how it encrypts: names resolved, library loaded.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use tlstax_contract::{
    AuthMethod, Compression, Endpoint, Job, PostgresTerms, Server, SslNegotiation, Tls, TlsLibrary,
    TlsSettings, TlsVersion, Verify,
};
use tlstax_tls::{Config, Context, Library, Version};
use tlstax_wire::{Algorithm, LoginConfig, ServerIdentity};
use tlstax_wire_pg as pg;

use crate::failure::Failure;
use crate::open_files::allow_open_files;
use crate::ports::allow_ports;
use crate::socket::Target;

/// Encryption as the job asks for it.
#[derive(Debug)]
pub struct TlsTerms {
    /// Settings and trusted certificates, read once.
    pub context: Context,
    /// What each connection makes a context of its own of; none where all have the one above.
    pub each: Option<(Library, Config)>,
    /// The name to send and to check.
    pub server_name: Option<String>,
    /// Whether sessions are taken up again.
    pub resumption: bool,
}

/// The name by which TLS agrees on PostgreSQL's protocol (ALPN).
pub const POSTGRES_ALPN: &str = "postgresql";

/// Whom connections log in as, in the protocol that the server speaks.
#[derive(Debug, Clone)]
pub enum LoginTerms {
    /// MySQL's or MariaDB's.
    MySql(Arc<LoginConfig>),
    /// `PostgreSQL`'s.
    Postgres(Arc<pg::LoginConfig>),
}

/// The way to the server that all connections of a job take.
#[derive(Debug)]
pub struct Access {
    /// Where they go.
    pub target: Target,
    /// Where they come from, in turn.
    pub sources: Vec<IpAddr>,
    /// Whom they log in as.
    pub login: LoginTerms,
    /// How they are encrypted; none in the clear.
    pub tls: Option<TlsTerms>,
    /// The TLS library of this job; in the clear it is loaded only when the server wants a password
    /// encrypted with its RSA key.
    library: OnceLock<Library>,
}

impl Access {
    /// Makes ready what can be made ready without connecting.
    ///
    /// # Errors
    /// A job for another kind of client, too few open files or local ports, a host that is not known, a TLS
    /// library or setting that is refused.
    pub fn prepare(job: &Job) -> Result<Self, Failure> {
        check(job)?;
        allow_open_files(job)?;
        let target = Target::resolve(&job.endpoint).map_err(Failure::Resolve)?;
        if let Target::Tcp(server) = target {
            allow_ports(job.connections, server, &job.source_addresses)?;
        }
        check_resumption(job)?;
        let library = OnceLock::new();
        let tls = terms(job, &library)?;
        let local_socket = matches!(job.endpoint, Endpoint::Unix { .. });
        Ok(Self {
            target,
            sources: job.source_addresses.clone(),
            login: login_terms(job, tls.is_some(), local_socket),
            tls,
            library,
        })
    }

    /// The way to a server of this process: in the clear, with the job's account.
    pub fn within_process(job: &Job, address: SocketAddr) -> Self {
        Self {
            target: Target::Tcp(address),
            sources: Vec::new(),
            login: match login_terms(job, false, false) {
                LoginTerms::MySql(config) => LoginTerms::MySql(Arc::new(LoginConfig {
                    compression: None,
                    ..LoginConfig::clone(&config)
                })),
                LoginTerms::Postgres(config) => LoginTerms::Postgres(Arc::new(pg::LoginConfig {
                    methods: pg::AuthMethods::ANY,
                    ..pg::LoginConfig::clone(&config)
                })),
            },
            tls: None,
            library: OnceLock::new(),
        }
    }

    /// The TLS library of encrypted connections, as the contract tells of it; none in the clear.
    pub fn tls_library(&self) -> Option<TlsLibrary> {
        let library = self.tls.as_ref().and_then(|_| self.library.get())?;
        Some(TlsLibrary {
            version: library.version_text().to_owned(),
            libssl_path: library.libssl_path().to_owned(),
            libcrypto_path: library.libcrypto_path().to_owned(),
        })
    }

    /// The TLS library, loaded when it was not yet.
    ///
    /// # Errors
    /// The machine has none that can be used.
    pub fn library(&self) -> Result<&Library, Failure> {
        if let Some(library) = self.library.get() {
            return Ok(library);
        }
        let loaded = Library::load(None)?;
        // Another thread may have been faster; both loaded the same.
        Ok(self.library.get_or_init(|| loaded))
    }
}

/// Refuses what is for another kind of client.
fn check(job: &Job) -> Result<(), Failure> {
    if job.driver.is_some() || matches!(job.tls, Tls::Unset { .. } | Tls::Required { .. }) {
        return Err(Failure::Refused(
            "the engine is no driver: it has no options of one (job field driver), and must be told \
             whether and how to encrypt (job field tls)",
        ));
    }
    if !job.reset.is_empty() {
        return Err(Failure::Refused(
            "job field reset must be empty: this client does all operations in one go and \
             says nothing between rounds",
        ));
    }
    match &job.server {
        Server::Mysql {} => Ok(()),
        Server::Postgresql(terms) => check_postgres(job, terms),
    }
}

/// Refuses what `PostgreSQL` does not have.
fn check_postgres(job: &Job, terms: &PostgresTerms) -> Result<(), Failure> {
    let resumes = matches!(&job.tls, Tls::On(settings) if settings.resumption);
    let encrypts = matches!(job.tls, Tls::On(_));
    let local = matches!(job.endpoint, Endpoint::Unix { .. });
    let refused = if job.compression != Compression::Off {
        "job field compression must be off: PostgreSQL's protocol has no compression"
    } else if resumes {
        "job field tls.resumption must be false: PostgreSQL's server issues no session that could be resumed"
    } else if encrypts && local {
        "job field tls must be off: PostgreSQL's server has no TLS on a Unix socket"
    } else if !encrypts && terms.ssl_negotiation == SslNegotiation::Direct {
        "job field server.ssl_negotiation must be request where tls is off: there is nothing to begin directly"
    } else {
        return Ok(());
    };
    Err(Failure::Refused(refused))
}

fn check_resumption(job: &Job) -> Result<(), Failure> {
    match &job.tls {
        Tls::On(settings) if settings.own_context && settings.resumption => Err(Failure::Refused(
            "job field tls: a session is resumed in the context that it was made in, so own_context \
             and resumption do not go together",
        )),
        _ => Ok(()),
    }
}

/// Whom the job logs in as, over this kind of channel.
fn login_terms(job: &Job, tls: bool, local_socket: bool) -> LoginTerms {
    match &job.server {
        Server::Mysql {} => LoginTerms::MySql(Arc::new(login(job, tls, local_socket))),
        Server::Postgresql(terms) => {
            LoginTerms::Postgres(Arc::new(postgres_login(job, terms, tls)))
        }
    }
}

fn postgres_login(job: &Job, terms: &PostgresTerms, tls: bool) -> pg::LoginConfig {
    let method = |method: &AuthMethod| match method {
        AuthMethod::None => pg::AuthMethod::Trust,
        AuthMethod::Password => pg::AuthMethod::Password,
        AuthMethod::Md5 => pg::AuthMethod::Md5,
        AuthMethod::ScramSha256 => pg::AuthMethod::ScramSha256,
        AuthMethod::ScramSha256Plus => pg::AuthMethod::ScramSha256Plus,
    };
    let required = terms.require_auth.iter().map(method);
    let methods = match terms.require_auth[..] {
        [] => pg::AuthMethods::ANY,
        _ => required.fold(pg::AuthMethods::NONE, pg::AuthMethods::with),
    };
    pg::LoginConfig {
        user: job.account.user.clone(),
        password: job.account.password.clone(),
        database: job.account.database.clone(),
        parameters: job.attributes.clone().into_iter().collect(),
        tls: match (tls, terms.ssl_negotiation) {
            (false, _) => pg::TlsStart::Off,
            (true, SslNegotiation::Request) => pg::TlsStart::Request,
            (true, SslNegotiation::Direct) => pg::TlsStart::Direct,
        },
        server: match &job.tls {
            Tls::On(settings) if settings.verify != Verify::None => pg::ServerIdentity::Verified,
            _ => pg::ServerIdentity::Unknown,
        },
        methods,
        ..pg::LoginConfig::default()
    }
}

/// The job's account at MySQL or MariaDB, over this kind of channel.
fn login(job: &Job, tls: bool, local_socket: bool) -> LoginConfig {
    LoginConfig {
        user: job.account.user.clone(),
        password: job.account.password.clone(),
        database: job.account.database.clone(),
        tls,
        server: match &job.tls {
            Tls::On(settings) if settings.verify != Verify::None => ServerIdentity::Verified,
            _ => ServerIdentity::Unknown,
        },
        compression: match job.compression {
            Compression::Off => None,
            Compression::Zlib => Some(Algorithm::Zlib),
            Compression::Zstd => Some(Algorithm::Zstd),
        },
        local_socket,
        get_server_public_key: matches!(
            job.tls,
            Tls::Off {
                get_server_public_key: true
            }
        ),
        attributes: job.attributes.clone().into_iter().collect(),
    }
}

fn terms(job: &Job, loaded: &OnceLock<Library>) -> Result<Option<TlsTerms>, Failure> {
    let Tls::On(settings) = &job.tls else {
        return Ok(None);
    };
    let library = Library::load(settings.library.as_deref())?;
    let mut config = config(settings);
    if !job.server.is_mysql() {
        config.alpn.push(POSTGRES_ALPN.to_owned());
    }
    // One is made in any case, so that what is refused is known before anybody connects.
    let context = Context::new(library, &config)?;
    let host = match &job.endpoint {
        Endpoint::Tcp { host, .. } => Some(host.clone()),
        Endpoint::Unix { .. } => None,
    };
    // This is the only place that sets it.
    let _ = loaded.set(library);
    let server_name = settings.server_name.clone().or(host);
    Ok(Some(TlsTerms {
        context,
        each: settings.own_context.then_some((library, config)),
        server_name,
        resumption: settings.resumption,
    }))
}

fn config(settings: &TlsSettings) -> Config {
    Config {
        min_version: settings.min_version.map(version),
        max_version: settings.max_version.map(version),
        cipher_list: settings.cipher_list.clone(),
        ciphersuites: settings.ciphersuites.clone(),
        groups: settings.groups.clone(),
        verify: match settings.verify {
            Verify::None => tlstax_tls::Verify::None,
            Verify::Ca => tlstax_tls::Verify::Ca,
            Verify::Identity => tlstax_tls::Verify::Identity,
        },
        ca_file: settings.ca_file.clone(),
        certificate_file: settings.certificate_file.clone(),
        key_file: settings.key_file.clone(),
        resumption: settings.resumption,
        weak_dh: settings.weak_dh,
        alpn: Vec::new(),
        keylog_file: settings.keylog_file.clone(),
        observe_messages: true,
    }
}

fn version(version: TlsVersion) -> Version {
    match version {
        TlsVersion::V1_0 => Version::Tls10,
        TlsVersion::V1_1 => Version::Tls11,
        TlsVersion::V1_2 => Version::Tls12,
        TlsVersion::V1_3 => Version::Tls13,
    }
}
