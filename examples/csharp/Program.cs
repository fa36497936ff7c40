// A player in a room: mono player.exe ws://127.0.0.1:7400/play lobby mono 10 joins the room, says `mono 1` to
// `mono 10`, prints what it hears, and ends when it hears `bye`.
using System;
using System.Threading.Tasks;

static class Program {
    static int Main(string[] args) => Play(args).GetAwaiter().GetResult();

    static async Task<int> Play(string[] args) {
        var player = new Rejoin(args[0]);
        var isDone = new TaskCompletionSource<int>();
        player.Connected += async (rung, reason) => {
            Console.WriteLine($"connected {rung} {reason}");
            if (rung != "RUNG_NEW") return;
            await player.Join("relay", args[1]);
            for (var said = 1; said <= int.Parse(args[3]); said += 1) {
                while (!await player.Say($"{args[2]} {said}")) await Task.Delay(20);
                await Task.Delay(20);
            }
        };
        player.Heard += text => {
            Console.WriteLine($"heard {text}");
            if (text == "bye") isDone.TrySetResult(0);
        };
        await Task.WhenAny(isDone.Task, player.Run());
        return isDone.Task.IsCompleted ? 0 : 1;
    }
}
