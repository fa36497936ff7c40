// The client end of Rejoin in C# over text frames, for .NET, Mono and Unity. What is said is kept until the
// server has it; after a cut the session goes on where it was, and nothing is lost or repeated.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.WebSockets;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using System.Xml;
using System.Xml.Linq;

public sealed class Rejoin {
    static readonly string[] Login = { "ENDED", "SESSION_UNKNOWN", "TOKEN_RETIRED", "IDLE", "LIFETIME" };
    static readonly string[] Later = { "HANDSHAKE_TIMEOUT", "HEARTBEAT_LOST", "TOO_SLOW", "SHUTTING_DOWN", "ZONE_FAULT",
        "STORE_FAILED", "FLOODED", "ADMISSION_TIMEOUT", "FULL", "NOT_READY" };
    public event Action<string, string> Connected; // RUNG_NEW: join. RUNG_REPLAYED: go on. RUNG_RESYNCED: something was missed
    public event Action<string> Heard;
    readonly Uri url;
    readonly Random chance = new Random();
    readonly SemaphoreSlim turn = new SemaphoreSlim(1); // one frame is sent or taken at a time
    ClientWebSocket socket;
    byte[] buffer = new byte[1 << 16];
    bool isLive, wasLive, isOver;
    string ticket, code, leg = "0"; // the ticket leads back to the session
    ulong seq, number; int waitMs; // the last number heard in this leg; the last one given to a send
    readonly List<KeyValuePair<ulong, string>> sends = new List<KeyValuePair<ulong, string>>();

    public Rejoin(string url) { this.url = new Uri(url); } // ws://host:port/play
    public Task<bool> Join(string kind, string name) => Up($"\"join\":{{\"kind\":{Quote(kind)},\"name\":{Quote(name)},\"create\":true}}");
    public Task<bool> Say(string text) => Up($"\"message\":{{\"payload\":\"{Convert.ToBase64String(Encoding.UTF8.GetBytes(text))}\"}}");

    /// Comes back until the server says that it is over; gives the reason.
    public async Task<string> Run() {
        for (var tries = 0; !isOver;) {
            await Task.Delay(waitMs + chance.Next(250 << tries)); // a crowd does not come back in one moment
            waitMs = 0;
            using (socket = new ClientWebSocket()) {
                socket.Options.AddSubProtocol("rejoin.v1.json");
                try {
                    using (var patience = new CancellationTokenSource(10000)) await socket.ConnectAsync(url, patience.Token);
                    while (socket.State == WebSocketState.Open) await Take(await Read());
                } catch (Exception) { } // it could not be reached, or is gone: it is tried again
                await turn.WaitAsync();
                tries = wasLive ? 0 : Math.Min(tries + 1, 4);
                isLive = wasLive = false;
                turn.Release();
            }
        }
        return code;
    }
    async Task<bool> Up(string body) { // false: there is no session yet, or too much waits already
        await turn.WaitAsync();
        try {
            if (ticket == null || sends.Count >= 128) return false;
            sends.Add(new KeyValuePair<ulong, string>(++number, $"{{\"up\":{{\"seq\":\"{number}\",{body}}}}}"));
            if (isLive) await Put(sends.Last().Value);
        } catch (Exception) { isLive = false; } // the connection is gone; it is sent again on the next one
        finally { turn.Release(); }
        return true;
    }
    Task Put(string frame) => socket.SendAsync(new ArraySegment<byte>(Encoding.UTF8.GetBytes(frame)), WebSocketMessageType.Text, true, CancellationToken.None);
    Task Ack() => Put($"{{\"ack\":{{\"leg\":\"{leg}\",\"seq\":\"{seq}\"}}}}");
    async Task<XElement> Read() {
        for (var length = 0;;) {
            if (length == buffer.Length) Array.Resize(ref buffer, 2 * length);
            WebSocketReceiveResult got;
            using (var silence = new CancellationTokenSource(12500)) // two and a half heartbeats
                got = await socket.ReceiveAsync(new ArraySegment<byte>(buffer, length, buffer.Length - length), silence.Token);
            length += got.Count;
            if (got.MessageType == WebSocketMessageType.Close) throw new WebSocketException("it was closed");
            if (got.EndOfMessage) return Parse(length);
        }
    }
    XElement Parse(int length) => XElement.Load(JsonReaderWriterFactory.CreateJsonReader(buffer, 0, length, XmlDictionaryReaderQuotas.Max)).Elements().First();
    static string Quote(string text) => "\"" + string.Concat(text.Select(letter => letter < ' ' || letter == '"' || letter == '\\' ? $"\\u{(int)letter:x4}" : $"{letter}")) + "\"";
    static string Text(XElement body, string field, string otherwise = "0") => body.Element(field)?.Value ?? otherwise;
    async Task Take(XElement body) {
        await turn.WaitAsync();
        try { await Dispatch(body); } finally { turn.Release(); }
    }
    async Task Dispatch(XElement body) {
        switch (body.Name.LocalName) {
            case "challenge": await Put($"{{\"hello\":{{\"version\":1,\"serverName\":\"{url.Host}\",{Purpose()}}}}}"); break;
            case "welcome": await Welcome(body); break;
            case "resync": leg = Text(body, "leg"); seq = ulong.Parse(Text(body, "seq")); await Ack(); break;
            case "down": await Down(body); break;
            case "applied": Forget(ulong.Parse(Text(body, "seq"))); break;
            case "ping": await Put($"{{\"pong\":{{\"nonce\":\"{Text(body, "nonce")}\"}}}}"); break;
            case "refusal": case "farewell": End(body); break;
        }
    }
    string Purpose() => ticket == null ? "\"login\":{\"anonymous\":{}}"
        : $"\"resume\":{{{ticket},\"position\":{{\"leg\":\"{leg}\",\"seq\":\"{seq}\"}},\"oldestUnacked\":\"{number - (ulong)sends.Count + 1}\"}}";
    async Task Welcome(XElement body) {
        ticket = string.Join(",", new[] { "session", "token", "epoch" }.Select(field => $"\"{field}\":\"{Text(body, field)}\""));
        wasLive = true;
        if (Text(body, "rung") == "RUNG_NEW") { leg = Text(body, "leg"); seq = 0; }
        Connected?.Invoke(Text(body, "rung"), Text(body, "reason"));
        if (Text(body, "rung") != "RUNG_RESYNCED") await Ack(); // else a resync says where it goes on
        Forget(ulong.Parse(Text(body, "applied")));
        foreach (var send in sends) await Put(send.Value);
        isLive = true;
    }
    async Task Down(XElement body) {
        foreach (var opening in new[] { "joined", "refused" }.Select(name => body.Element(name)).Where(found => found != null))
            if (ulong.Parse(Text(opening, "leg")) > ulong.Parse(leg)) { leg = Text(opening, "leg"); seq = 0; } // it opens a leg
        if (ulong.Parse(Text(body, "seq")) > seq) {
            seq = ulong.Parse(Text(body, "seq"));
            if (body.Element("message") is XElement message) Heard?.Invoke(Encoding.UTF8.GetString(Convert.FromBase64String(Text(message, "payload", ""))));
        }
        await Ack(); // after it was heard: the connection may be gone by now
    }
    void Forget(ulong applied) { sends.RemoveAll(send => send.Key <= applied); }
    void End(XElement body) {
        code = Text(body, "code").Replace("CLOSE_CODE_", "");
        waitMs = int.Parse(Text(body, "retryAfterMs"));
        isOver = !Login.Contains(code) && !Later.Contains(code);
        if (Login.Contains(code)) { ticket = null; sends.Clear(); number = 0; } // the session is gone, and what waited for it
    }
}
