//! From a job to what its connections share: names resolved, library loaded, statements compiled.

use std::sync::{Arc, OnceLock};

use tlstax_contract::{Compression, Endpoint, Job, Schedule, Tls, TlsSettings, TlsVersion, Verify};
use tlstax_tls::{Config, Context, Library, Version};
use tlstax_wire::{Algorithm, LoginConfig, ServerIdentity};

use crate::barrier::Barrier;
use crate::clock::nanoseconds;
use crate::failure::Failure;
use crate::full_load::Meter;
use crate::limits::allow_open_files;
use crate::ports::allow_ports;
use crate::script::{Resumption, Script};
use crate::shared::{Shared, TlsTerms};
use crate::socket::Target;
use crate::supply::Supply;

/// Makes ready what can be made ready without connecting.
///
/// # Errors
/// Too few open files or local ports, a host that is not known, a statement that cannot be compiled,
/// a TLS library or setting that is refused,
/// data to put back.
pub fn prepare(job: &Job) -> Result<Arc<Shared>, Failure> {
    if job.driver.is_some() || matches!(job.tls, Tls::Unset { .. } | Tls::Required { .. }) {
        let message = "the engine is no driver: it has no options of one (job field driver), and must be told \
                       whether and how to encrypt (job field tls)";
        return Err(Failure::Refused(message));
    }
    if !job.reset.is_empty() {
        let message = "job field reset must be empty: this client does all operations in one go and \
                       says nothing between rounds";
        return Err(Failure::Refused(message));
    }
    allow_open_files(job)?;
    let target = Target::resolve(&job.endpoint).map_err(Failure::Resolve)?;
    if let Target::Tcp(server) = target {
        allow_ports(job.connections, server, &job.source_addresses)?;
    }
    let resumption = match &job.tls {
        Tls::On(settings) if settings.resumption => Resumption::On,
        _ => Resumption::Off,
    };
    if matches!(&job.tls, Tls::On(settings) if settings.own_context && settings.resumption) {
        let message = "job field tls: a session is resumed in the context that it was made in, so own_context \
                       and resumption do not go together";
        return Err(Failure::Refused(message));
    }
    let library = OnceLock::new();
    let tls = terms(job, &library)?;
    let local_socket = matches!(job.endpoint, Endpoint::Unix { .. });
    let login = login(job, tls.is_some(), local_socket);
    let mut script = Script::compile(&job.workload, resumption)?;
    if let Schedule::Open { .. } = job.schedule {
        script = script.scheduled();
    }
    Ok(Arc::new(Shared {
        supply: Supply::new(job.operations, &script.spans),
        script,
        target,
        login: Arc::new(login),
        tls,
        library,
        full_load: Meter::of(job.full_load.as_ref())?,
        barrier: Barrier::of(job.threads),
        lingering: job.lingering,
        threads: job.threads,
        sources: job.source_addresses.clone(),
        timeout_ns: nanoseconds(job.timeout_s),
    }))
}

/// The job's account, over this kind of channel.
pub fn login(job: &Job, tls: bool, local_socket: bool) -> LoginConfig {
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
    let config = config(settings);
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
