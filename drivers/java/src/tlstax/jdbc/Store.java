// Certificates and keys as Java wants them: a PKCS#12 store, made from PEM, in memory only.
package tlstax.jdbc;

import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A store that drivers and the runtime read by its path, though it is on no disk: nothing has to be removed,
 * however this process ends. It is what keytool makes by default, password and iterations included, so a
 * driver that reads it for every connection pays what its users pay.
 */
final class Store {
    static final String TYPE = "PKCS12";
    /** Guards nothing: the store holds no secret that the job's files do not. Java insists on one. */
    static final String PASSWORD = "changeit";

    private static final Pattern KEY =
            Pattern.compile("-----BEGIN (RSA |EC )?PRIVATE KEY-----([^-]+)-----END", Pattern.DOTALL);
    /** PKCS#8's head for an RSA key: version 0 and the algorithm rsaEncryption (RFC 5208, RFC 8017). */
    private static final byte[] RSA_HEAD = {
        2, 1, 0, 0x30, 13, 6, 9, 0x2a, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xf7, 13, 1, 1, 1, 5, 0
    };

    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    final String path;
    /** What lets go of an open file closes it, sooner or later, though its path is in use. */
    private static final List<FileInputStream> KEPT = new ArrayList<>();

    private Store(KeyStore content) throws GeneralSecurityException, IOException {
        Path named = Files.createTempFile(Files.isWritable(SHARED_MEMORY) ? SHARED_MEMORY : null, "tlstax", null);
        try (OutputStream out = Files.newOutputStream(named)) {
            content.store(out, PASSWORD.toCharArray());
        }
        KEPT.add(new FileInputStream(named.toFile()));
        path = descriptorOf(named);
        Files.delete(named);
    }

    /** By which an open file can be opened again when it has no name any more (proc(5)). */
    private static String descriptorOf(Path file) throws IOException {
        try (DirectoryStream<Path> open = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : open) {
                if (Files.exists(descriptor) && Files.isSameFile(descriptor, file)) {
                    return descriptor.toString();
                }
            }
        }
        throw new IOException("an open file is not in /proc/self/fd");
    }

    /** A store of the certificates in a PEM file. */
    static Store trusting(String caFile) throws Failure {
        return made(caFile, store -> {
            int number = 0;
            for (Certificate certificate : certificates(caFile)) {
                store.setCertificateEntry("ca-" + number++, certificate);
            }
        });
    }

    /** A store of a certificate with its chain, and its key. */
    static Store identity(String certificateFile, String keyFile) throws Failure {
        return made(keyFile, store -> store.setKeyEntry(
                "client", key(keyFile), PASSWORD.toCharArray(),
                certificates(certificateFile).toArray(new Certificate[0])));
    }

    /** Fills a store. */
    private interface Filling {
        void fill(KeyStore store) throws GeneralSecurityException, IOException;
    }

    private static Store made(String file, Filling filling) throws Failure {
        try {
            KeyStore store = KeyStore.getInstance(TYPE);
            store.load(null, null);
            filling.fill(store);
            return new Store(store);
        } catch (GeneralSecurityException | IOException | IllegalArgumentException unreadable) {
            throw Failure.badJob(file + " cannot be used: " + Failure.words(unreadable));
        }
    }

    private static Collection<? extends Certificate> certificates(String file)
            throws GeneralSecurityException, IOException {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in);
        }
    }

    private static PrivateKey key(String file) throws GeneralSecurityException, IOException {
        Matcher found = KEY.matcher(Files.readString(Path.of(file), StandardCharsets.US_ASCII));
        if (!found.find() || "EC ".equals(found.group(1))) {
            throw new GeneralSecurityException("it holds no key in PKCS#8, nor an RSA key in PKCS#1");
        }
        byte[] der = Base64.getMimeDecoder().decode(found.group(2));
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(found.group(1) == null ? der : wrapped(der));
        for (String algorithm : new String[] {"RSA", "EC", "Ed25519"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (GeneralSecurityException another) {
                continue;
            }
        }
        throw new GeneralSecurityException("Java reads no key of this kind");
    }

    /** An RSA key in PKCS#1, wrapped as PKCS#8. */
    private static byte[] wrapped(byte[] pkcs1) {
        ByteArrayOutputStream inner = new ByteArrayOutputStream();
        inner.writeBytes(RSA_HEAD);
        inner.writeBytes(tagged(4, pkcs1));
        return tagged(0x30, inner.toByteArray());
    }

    /** DER: tag, length in two bytes, content (at most 65,535 bytes). */
    private static byte[] tagged(int tag, byte[] content) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int length = content.length;
        out.writeBytes(new byte[] {(byte) tag, (byte) 0x82, (byte) (length >> 8), (byte) length});
        out.writeBytes(content);
        return out.toByteArray();
    }
}
