// A player in a room: mono player.exe ws://127.0.0.1:7400/play lobby mono 10 joins the room, says `mono 1` to
// `mono 10`, prints what it hears, and ends when it hears `bye`.
using System;
using System.Threading.Tasks;

static class Program {
    static int Main(string[] args) => Play(args[0], args[1], args[2], int.Parse(args[3])).GetAwaiter().GetResult();

    static async Task<int> Play(string url, string room, string name, int count) {
        var player = new Rejoin(url);
        var (isIn, isDone) = (new TaskCompletionSource<bool>(), new TaskCompletionSource<bool>());
        player.Connected += async (rung, reason) => {
            Console.WriteLine($"connected {rung} {reason}");
            if (rung == "RUNG_NEW") await player.Join("relay", room); // the first time, or the old session is gone
            isIn.TrySetResult(true);
        };
        player.Heard += text => {
            Console.WriteLine($"heard {text}");
            if (text == "bye") isDone.TrySetResult(true);
        };
        var isOver = Task.WhenAny(isDone.Task, player.Run());
        await Task.WhenAny(isIn.Task, isOver);
        for (var said = 0; said < count && !isOver.IsCompleted; await Task.Delay(20))
            if (await player.Say($"{name} {said + 1}")) said += 1;
        await isOver;
        return isDone.Task.IsCompleted ? 0 : 1;
    }
}
